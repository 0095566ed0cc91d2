//! The languages of NLS_DATE_LANGUAGE: names of months and days.

/// The names of a language. Names begin with a capital where TO_CHAR's element does; all are stored in that form.
#[derive(Debug)]
pub struct Language {
    /// Oracle's name of the language.
    pub name: &'static str,
    /// The full names of the months.
    pub months: [&'static str; 12],
    /// The abbreviated names of the months.
    pub short_months: [&'static str; 12],
    /// The full names of the days, Sunday first.
    pub days: [&'static str; 7],
    /// The abbreviated names of the days, Sunday first.
    pub short_days: [&'static str; 7],
    /// Widths in characters to which MONTH, MON, DAY and DY pad.
    pub widths: [usize; 4],
}

impl Language {
    /// The language with this Oracle name, in any case; `None` for an unknown one.
    pub fn named(name: &str) -> Option<&'static Language> {
        LANGUAGES.iter().find(|language| language.name.eq_ignore_ascii_case(name))
    }

    /// The length in bytes of the beginning of a text that equals this name in any case.
    pub fn begins(&self, text: &str, name: &str) -> Option<usize> {
        if name.is_ascii() && self.name != "TURKISH" {
            return text.get(..name.len()).filter(|head| head.eq_ignore_ascii_case(name)).map(str::len);
        }
        let end = text.char_indices().map(|(at, c)| at + c.len_utf8()).nth(name.chars().count() - 1)?;
        (self.upper(&text[..end]) == self.upper(name)).then_some(end)
    }

    /// A name of this language in capitals.
    pub fn upper(&self, text: &str) -> String {
        if self.name == "TURKISH" { text.replace('i', "İ").to_uppercase() } else { text.to_uppercase() }
    }

    /// A name of this language in small letters.
    pub fn lower(&self, text: &str) -> String {
        if self.name == "TURKISH" {
            text.replace('İ', "i").replace('I', "ı").to_lowercase()
        } else {
            text.to_lowercase()
        }
    }
}

/// The width of the longest of the names.
const fn width(names: &[&str]) -> usize {
    let (mut most, mut at) = (0, 0);
    while at < names.len() {
        let (bytes, mut i, mut characters) = (names[at].as_bytes(), 0, 0);
        while i < bytes.len() {
            // A continuation byte of UTF-8 begins no character.
            if bytes[i] & 0xC0 != 0x80 {
                characters += 1;
            }
            i += 1;
        }
        if characters > most {
            most = characters;
        }
        at += 1;
    }
    most
}

const fn language(
    name: &'static str,
    months: [&'static str; 12],
    short_months: [&'static str; 12],
    days: [&'static str; 7],
    short_days: [&'static str; 7],
) -> Language {
    let widths = [width(&months), width(&short_months), width(&days), width(&short_days)];
    Language { name, months, short_months, days, short_days, widths }
}

/// The supported languages; the first is the default.
pub static LANGUAGES: [Language; 25] = [
    language(
        "AMERICAN",
        [
            "January",
            "February",
            "March",
            "April",
            "May",
            "June",
            "July",
            "August",
            "September",
            "October",
            "November",
            "December",
        ],
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"],
        ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"],
        ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"],
    ),
    language(
        "ENGLISH",
        [
            "January",
            "February",
            "March",
            "April",
            "May",
            "June",
            "July",
            "August",
            "September",
            "October",
            "November",
            "December",
        ],
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"],
        ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"],
        ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"],
    ),
    language(
        "GERMAN",
        [
            "Januar",
            "Februar",
            "März",
            "April",
            "Mai",
            "Juni",
            "Juli",
            "August",
            "September",
            "Oktober",
            "November",
            "Dezember",
        ],
        ["Jan", "Feb", "Mrz", "Apr", "Mai", "Jun", "Jul", "Aug", "Sep", "Okt", "Nov", "Dez"],
        ["Sonntag", "Montag", "Dienstag", "Mittwoch", "Donnerstag", "Freitag", "Samstag"],
        ["So", "Mo", "Di", "Mi", "Do", "Fr", "Sa"],
    ),
    language(
        "FRENCH",
        [
            "Janvier",
            "Février",
            "Mars",
            "Avril",
            "Mai",
            "Juin",
            "Juillet",
            "Août",
            "Septembre",
            "Octobre",
            "Novembre",
            "Décembre",
        ],
        ["Janv.", "Févr.", "Mars", "Avr.", "Mai", "Juin", "Juil.", "Août", "Sept.", "Oct.", "Nov.", "Déc."],
        ["Dimanche", "Lundi", "Mardi", "Mercredi", "Jeudi", "Vendredi", "Samedi"],
        ["Dim.", "Lun.", "Mar.", "Mer.", "Jeu.", "Ven.", "Sam."],
    ),
    language(
        "CANADIAN FRENCH",
        [
            "Janvier",
            "Février",
            "Mars",
            "Avril",
            "Mai",
            "Juin",
            "Juillet",
            "Août",
            "Septembre",
            "Octobre",
            "Novembre",
            "Décembre",
        ],
        ["Janv.", "Févr.", "Mars", "Avr.", "Mai", "Juin", "Juil.", "Août", "Sept.", "Oct.", "Nov.", "Déc."],
        ["Dimanche", "Lundi", "Mardi", "Mercredi", "Jeudi", "Vendredi", "Samedi"],
        ["Dim.", "Lun.", "Mar.", "Mer.", "Jeu.", "Ven.", "Sam."],
    ),
    language(
        "SPANISH",
        [
            "Enero",
            "Febrero",
            "Marzo",
            "Abril",
            "Mayo",
            "Junio",
            "Julio",
            "Agosto",
            "Septiembre",
            "Octubre",
            "Noviembre",
            "Diciembre",
        ],
        ["Ene", "Feb", "Mar", "Abr", "May", "Jun", "Jul", "Ago", "Sep", "Oct", "Nov", "Dic"],
        ["Domingo", "Lunes", "Martes", "Miércoles", "Jueves", "Viernes", "Sábado"],
        ["Dom", "Lun", "Mar", "Mié", "Jue", "Vie", "Sáb"],
    ),
    language(
        "LATIN AMERICAN SPANISH",
        [
            "Enero",
            "Febrero",
            "Marzo",
            "Abril",
            "Mayo",
            "Junio",
            "Julio",
            "Agosto",
            "Septiembre",
            "Octubre",
            "Noviembre",
            "Diciembre",
        ],
        ["Ene", "Feb", "Mar", "Abr", "May", "Jun", "Jul", "Ago", "Sep", "Oct", "Nov", "Dic"],
        ["Domingo", "Lunes", "Martes", "Miércoles", "Jueves", "Viernes", "Sábado"],
        ["Dom", "Lun", "Mar", "Mié", "Jue", "Vie", "Sáb"],
    ),
    language(
        "MEXICAN SPANISH",
        [
            "Enero",
            "Febrero",
            "Marzo",
            "Abril",
            "Mayo",
            "Junio",
            "Julio",
            "Agosto",
            "Septiembre",
            "Octubre",
            "Noviembre",
            "Diciembre",
        ],
        ["Ene", "Feb", "Mar", "Abr", "May", "Jun", "Jul", "Ago", "Sep", "Oct", "Nov", "Dic"],
        ["Domingo", "Lunes", "Martes", "Miércoles", "Jueves", "Viernes", "Sábado"],
        ["Dom", "Lun", "Mar", "Mié", "Jue", "Vie", "Sáb"],
    ),
    language(
        "ITALIAN",
        [
            "Gennaio",
            "Febbraio",
            "Marzo",
            "Aprile",
            "Maggio",
            "Giugno",
            "Luglio",
            "Agosto",
            "Settembre",
            "Ottobre",
            "Novembre",
            "Dicembre",
        ],
        ["Gen", "Feb", "Mar", "Apr", "Mag", "Giu", "Lug", "Ago", "Set", "Ott", "Nov", "Dic"],
        ["Domenica", "Lunedì", "Martedì", "Mercoledì", "Giovedì", "Venerdì", "Sabato"],
        ["Dom", "Lun", "Mar", "Mer", "Gio", "Ven", "Sab"],
    ),
    language(
        "PORTUGUESE",
        [
            "Janeiro",
            "Fevereiro",
            "Março",
            "Abril",
            "Maio",
            "Junho",
            "Julho",
            "Agosto",
            "Setembro",
            "Outubro",
            "Novembro",
            "Dezembro",
        ],
        ["Jan", "Fev", "Mar", "Abr", "Mai", "Jun", "Jul", "Ago", "Set", "Out", "Nov", "Dez"],
        ["Domingo", "Segunda-Feira", "Terça-Feira", "Quarta-Feira", "Quinta-Feira", "Sexta-Feira", "Sábado"],
        ["Dom", "Seg", "Ter", "Qua", "Qui", "Sex", "Sáb"],
    ),
    language(
        "BRAZILIAN PORTUGUESE",
        [
            "Janeiro",
            "Fevereiro",
            "Março",
            "Abril",
            "Maio",
            "Junho",
            "Julho",
            "Agosto",
            "Setembro",
            "Outubro",
            "Novembro",
            "Dezembro",
        ],
        ["Jan", "Fev", "Mar", "Abr", "Mai", "Jun", "Jul", "Ago", "Set", "Out", "Nov", "Dez"],
        ["Domingo", "Segunda-Feira", "Terça-Feira", "Quarta-Feira", "Quinta-Feira", "Sexta-Feira", "Sábado"],
        ["Dom", "Seg", "Ter", "Qua", "Qui", "Sex", "Sáb"],
    ),
    language(
        "DUTCH",
        [
            "Januari",
            "Februari",
            "Maart",
            "April",
            "Mei",
            "Juni",
            "Juli",
            "Augustus",
            "September",
            "Oktober",
            "November",
            "December",
        ],
        ["Jan", "Feb", "Mrt", "Apr", "Mei", "Jun", "Jul", "Aug", "Sep", "Okt", "Nov", "Dec"],
        ["Zondag", "Maandag", "Dinsdag", "Woensdag", "Donderdag", "Vrijdag", "Zaterdag"],
        ["Zo", "Ma", "Di", "Wo", "Do", "Vr", "Za"],
    ),
    language(
        "SWEDISH",
        [
            "Januari",
            "Februari",
            "Mars",
            "April",
            "Maj",
            "Juni",
            "Juli",
            "Augusti",
            "September",
            "Oktober",
            "November",
            "December",
        ],
        ["Jan", "Feb", "Mar", "Apr", "Maj", "Jun", "Jul", "Aug", "Sep", "Okt", "Nov", "Dec"],
        ["Söndag", "Måndag", "Tisdag", "Onsdag", "Torsdag", "Fredag", "Lördag"],
        ["Sön", "Mån", "Tis", "Ons", "Tor", "Fre", "Lör"],
    ),
    language(
        "NORWEGIAN",
        [
            "Januar",
            "Februar",
            "Mars",
            "April",
            "Mai",
            "Juni",
            "Juli",
            "August",
            "September",
            "Oktober",
            "November",
            "Desember",
        ],
        ["Jan", "Feb", "Mar", "Apr", "Mai", "Jun", "Jul", "Aug", "Sep", "Okt", "Nov", "Des"],
        ["Søndag", "Mandag", "Tirsdag", "Onsdag", "Torsdag", "Fredag", "Lørdag"],
        ["Søn", "Man", "Tir", "Ons", "Tor", "Fre", "Lør"],
    ),
    language(
        "DANISH",
        [
            "Januar",
            "Februar",
            "Marts",
            "April",
            "Maj",
            "Juni",
            "Juli",
            "August",
            "September",
            "Oktober",
            "November",
            "December",
        ],
        ["Jan", "Feb", "Mar", "Apr", "Maj", "Jun", "Jul", "Aug", "Sep", "Okt", "Nov", "Dec"],
        ["Søndag", "Mandag", "Tirsdag", "Onsdag", "Torsdag", "Fredag", "Lørdag"],
        ["Søn", "Man", "Tir", "Ons", "Tor", "Fre", "Lør"],
    ),
    language(
        "FINNISH",
        [
            "Tammikuu",
            "Helmikuu",
            "Maaliskuu",
            "Huhtikuu",
            "Toukokuu",
            "Kesäkuu",
            "Heinäkuu",
            "Elokuu",
            "Syyskuu",
            "Lokakuu",
            "Marraskuu",
            "Joulukuu",
        ],
        ["Tammi", "Helmi", "Maalis", "Huhti", "Touko", "Kesä", "Heinä", "Elo", "Syys", "Loka", "Marras", "Joulu"],
        ["Sunnuntai", "Maanantai", "Tiistai", "Keskiviikko", "Torstai", "Perjantai", "Lauantai"],
        ["Su", "Ma", "Ti", "Ke", "To", "Pe", "La"],
    ),
    language(
        "POLISH",
        [
            "Styczeń",
            "Luty",
            "Marzec",
            "Kwiecień",
            "Maj",
            "Czerwiec",
            "Lipiec",
            "Sierpień",
            "Wrzesień",
            "Październik",
            "Listopad",
            "Grudzień",
        ],
        ["Sty", "Lut", "Mar", "Kwi", "Maj", "Cze", "Lip", "Sie", "Wrz", "Paź", "Lis", "Gru"],
        ["Niedziela", "Poniedziałek", "Wtorek", "Środa", "Czwartek", "Piątek", "Sobota"],
        ["Nie", "Pon", "Wto", "Śro", "Czw", "Pią", "Sob"],
    ),
    language(
        "CZECH",
        [
            "Leden",
            "Únor",
            "Březen",
            "Duben",
            "Květen",
            "Červen",
            "Červenec",
            "Srpen",
            "Září",
            "Říjen",
            "Listopad",
            "Prosinec",
        ],
        ["Led", "Úno", "Bře", "Dub", "Kvě", "Čer", "Čvc", "Srp", "Zář", "Říj", "Lis", "Pro"],
        ["Neděle", "Pondělí", "Úterý", "Středa", "Čtvrtek", "Pátek", "Sobota"],
        ["Ne", "Po", "Út", "St", "Čt", "Pá", "So"],
    ),
    language(
        "RUSSIAN",
        [
            "Январь",
            "Февраль",
            "Март",
            "Апрель",
            "Май",
            "Июнь",
            "Июль",
            "Август",
            "Сентябрь",
            "Октябрь",
            "Ноябрь",
            "Декабрь",
        ],
        ["Янв", "Фев", "Мар", "Апр", "Май", "Июн", "Июл", "Авг", "Сен", "Окт", "Ноя", "Дек"],
        ["Воскресенье", "Понедельник", "Вторник", "Среда", "Четверг", "Пятница", "Суббота"],
        ["Вс", "Пн", "Вт", "Ср", "Чт", "Пт", "Сб"],
    ),
    language(
        "UKRAINIAN",
        [
            "Січень",
            "Лютий",
            "Березень",
            "Квітень",
            "Травень",
            "Червень",
            "Липень",
            "Серпень",
            "Вересень",
            "Жовтень",
            "Листопад",
            "Грудень",
        ],
        ["Січ", "Лют", "Бер", "Кві", "Тра", "Чер", "Лип", "Сер", "Вер", "Жов", "Лис", "Гру"],
        ["Неділя", "Понеділок", "Вівторок", "Середа", "Четвер", "П'ятниця", "Субота"],
        ["Нд", "Пн", "Вт", "Ср", "Чт", "Пт", "Сб"],
    ),
    language(
        "TURKISH",
        ["Ocak", "Şubat", "Mart", "Nisan", "Mayıs", "Haziran", "Temmuz", "Ağustos", "Eylül", "Ekim", "Kasım", "Aralık"],
        ["Oca", "Şub", "Mar", "Nis", "May", "Haz", "Tem", "Ağu", "Eyl", "Eki", "Kas", "Ara"],
        ["Pazar", "Pazartesi", "Salı", "Çarşamba", "Perşembe", "Cuma", "Cumartesi"],
        ["Paz", "Pzt", "Sal", "Çar", "Per", "Cum", "Cmt"],
    ),
    language(
        "JAPANESE",
        ["1月", "2月", "3月", "4月", "5月", "6月", "7月", "8月", "9月", "10月", "11月", "12月"],
        ["1月", "2月", "3月", "4月", "5月", "6月", "7月", "8月", "9月", "10月", "11月", "12月"],
        ["日曜日", "月曜日", "火曜日", "水曜日", "木曜日", "金曜日", "土曜日"],
        ["日", "月", "火", "水", "木", "金", "土"],
    ),
    language(
        "SIMPLIFIED CHINESE",
        ["1月", "2月", "3月", "4月", "5月", "6月", "7月", "8月", "9月", "10月", "11月", "12月"],
        ["1月", "2月", "3月", "4月", "5月", "6月", "7月", "8月", "9月", "10月", "11月", "12月"],
        ["星期日", "星期一", "星期二", "星期三", "星期四", "星期五", "星期六"],
        ["星期日", "星期一", "星期二", "星期三", "星期四", "星期五", "星期六"],
    ),
    language(
        "TRADITIONAL CHINESE",
        ["1月", "2月", "3月", "4月", "5月", "6月", "7月", "8月", "9月", "10月", "11月", "12月"],
        ["1月", "2月", "3月", "4月", "5月", "6月", "7月", "8月", "9月", "10月", "11月", "12月"],
        ["星期日", "星期一", "星期二", "星期三", "星期四", "星期五", "星期六"],
        ["星期日", "星期一", "星期二", "星期三", "星期四", "星期五", "星期六"],
    ),
    language(
        "KOREAN",
        ["1월", "2월", "3월", "4월", "5월", "6월", "7월", "8월", "9월", "10월", "11월", "12월"],
        ["1월", "2월", "3월", "4월", "5월", "6월", "7월", "8월", "9월", "10월", "11월", "12월"],
        ["일요일", "월요일", "화요일", "수요일", "목요일", "금요일", "토요일"],
        ["일", "월", "화", "수", "목", "금", "토"],
    ),
];
