//! Numbers, compared with known results and with a model of big integers.

use super::*;
use proptest::prelude::*;

fn n(text: &str) -> Number {
    text.parse().unwrap()
}

#[track_caller]
fn shows(x: Result<Number>, text: &str) {
    assert_eq!(x.unwrap().to_string(), text);
}

#[test]
fn numbers_of_clients_may_have_one_more_byte() {
    let long: Vec<u8> = std::iter::once(213).chain((0..20).map(|n| n + 2)).chain([51]).collect();
    let sent = Number::decode_sent(&long).unwrap();
    assert_eq!((sent, Number::decode(&long)), (n("10203040506070809101112131415161718192100"), None));
    let negative: Vec<u8> = std::iter::once(42).chain((0..20).map(|n| 100 - n)).chain([51]).collect();
    assert_eq!(Number::decode_sent(&negative), Some(n("-10203040506070809101112131415161718192100")));
    for bad in [&long[..20], &[long.clone(), vec![2]].concat(), &[213; 22], &[0; 22]] {
        let _ = Number::decode_sent(bad);
    }
    assert_eq!(Number::decode_sent(&[long.clone(), vec![2]].concat()), None);
}

#[test]
fn parses_and_prints() {
    for (input, output) in [
        ("0", "0"),
        ("-0", "0"),
        ("0.0", "0"),
        (".5", ".5"),
        ("0.5", ".5"),
        ("-0.5", "-.5"),
        ("1.50", "1.5"),
        ("  12 ", "12"),
        ("1e3", "1000"),
        ("1.5E-3", ".0015"),
        ("100", "100"),
        ("123456789012345678901234567890", "123456789012345678901234567890"),
        ("9223372036854775807", "9223372036854775807"),
        ("9223372036854775808", "9223372036854775808"),
        ("-9223372036854775808", "-9223372036854775808"),
        ("1.", "1"),
        ("+7", "7"),
        ("00012.3400", "12.34"),
        ("1e39", "1000000000000000000000000000000000000000"),
        ("1e40", "1.0000000000000000000000000000000000E+40"),
        ("1e125", "1.000000000000000000000000000000000E+125"),
        ("-1e-130", "-1.000000000000000000000000000000000E-130"),
        ("1e-131", "0"),
        ("0.0000000001", ".0000000001"),
    ] {
        assert_eq!(n(input).to_string(), output, "{input}");
    }
    for bad in ["", " ", ".", "-", "1e", "1e+", "abc", "1 2", "1..2", "1.2.3", "--1", "0x10", "1,5", "$1"] {
        assert!(Number::parse(bad).unwrap_err().is(1722), "{bad}");
    }
    assert!(Number::parse("1e126").unwrap_err().is(1426));
    assert_eq!(Number::parse_with("1,5", ',').unwrap().to_string(), "1.5");
}

#[test]
fn divides_to_twenty_base_100_digits() {
    shows(n("1").div(&n("3")), ".3333333333333333333333333333333333333333");
    shows(n("2").div(&n("3")), ".6666666666666666666666666666666666666667");
    shows(n("10").div(&n("3")), "3.33333333333333333333333333333333333333");
    shows(n("1").div(&n("7")), ".1428571428571428571428571428571428571429");
    shows(n("1").div(&n("3")).and_then(|x| x.mul(&n("3"))), ".9999999999999999999999999999999999999999");
    shows(n("1").div(&n("4")), ".25");
    shows(n("6").div(&n("3")), "2");
    shows(
        n("12345678901234567890123456789").div(&n("98765432109876543210")),
        "124999998.860937500015488281238306396486",
    );
    assert!(n("1").div(&n("0")).unwrap_err().is(1476));
    assert!(n("1e100").div(&n("1e-100")).unwrap_err().is(1426));
    shows(n("1e-100").div(&n("1e100")), "0");
}

#[test]
fn overflows_words_exactly() {
    let max = Number::from_i64(i64::MAX);
    shows(max.add(&Number::ONE), "9223372036854775808");
    shows(max.mul(&max), "85070591730234615847396907784232501249");
    shows(Number::from_i64(i64::MIN).sub(&Number::ONE), "-9223372036854775809");
    shows(Ok(Number::from_i64(i64::MIN).neg()), "9223372036854775808");
    assert_eq!(Number::from_i64(i64::MIN).neg().neg().as_i64(), Some(i64::MIN));
    assert_eq!(n("9223372036854775808").sub(&Number::ONE).unwrap().as_i64(), Some(i64::MAX));
    assert!(n("9e125").add(&n("9e125")).unwrap_err().is(1426));
    assert!(n("1e100").mul(&n("1e100")).unwrap_err().is(1426));
}

#[test]
fn rounds_and_cuts() {
    for (x, places, rounded, cut) in [
        ("15.193", 1, "15.2", "15.1"),
        ("15.193", -1, "20", "10"),
        ("2.5", 0, "3", "2"),
        ("-2.5", 0, "-3", "-2"),
        ("0.5", 0, "1", "0"),
        ("0.05", 1, ".1", "0"),
        ("0.049", 1, "0", "0"),
        ("99.995", 2, "100", "99.99"),
        ("55", -2, "100", "0"),
        ("45", -2, "0", "0"),
        ("1234567", -3, "1235000", "1234000"),
        ("1.005", 2, "1.01", "1"),
        ("999.9", 0, "1000", "999"),
        ("0.001", 2, "0", "0"),
        ("1e30", -29, "1000000000000000000000000000000", "1000000000000000000000000000000"),
        ("123.456", 10, "123.456", "123.456"),
        ("123.456", -10, "0", "0"),
        ("5", -1, "10", "0"),
        ("4", -1, "0", "0"),
        ("9.5", 0, "10", "9"),
        ("99.5", 0, "100", "99"),
        ("0.95", 1, "1", ".9"),
        ("9.95", 1, "10", "9.9"),
    ] {
        assert_eq!(n(x).round(places).to_string(), rounded, "round({x}, {places})");
        assert_eq!(n(x).trunc(places).to_string(), cut, "trunc({x}, {places})");
    }
    for (x, floor, ceil) in
        [("1.5", "1", "2"), ("-1.5", "-2", "-1"), ("3", "3", "3"), (".1", "0", "1"), ("-.1", "-1", "0")]
    {
        assert_eq!((n(x).floor().to_string(), n(x).ceil().to_string()), (floor.into(), ceil.into()), "{x}");
    }
}

#[test]
fn fits_a_column() {
    // The table of the SQL Language Reference, "NUMBER Data Type".
    for (precision, scale, result) in [
        (None, None, Some("123.89")),
        (Some(3), Some(0), Some("124")),
        (Some(3), Some(2), None),
        (Some(4), Some(2), None),
        (Some(5), Some(2), Some("123.89")),
        (Some(6), Some(1), Some("123.9")),
        (Some(6), Some(-2), Some("100")),
    ] {
        let fitted = n("123.89").fit(precision, scale);
        match result {
            Some(text) => assert_eq!(fitted.unwrap().to_string(), text),
            None => assert!(fitted.unwrap_err().is(1438), "{precision:?} {scale:?}"),
        }
    }
    for (x, precision, scale, result) in [
        (".01234", 4, 5, Some(".01234")),
        (".00012", 4, 5, Some(".00012")),
        (".000127", 4, 5, Some(".00013")),
        (".0000012", 2, 7, Some(".0000012")),
        (".00000123", 2, 7, Some(".0000012")),
        ("1.2e-4", 2, 5, Some(".00012")),
        (".1", 4, 5, None),
        ("99.5", 2, 0, None),
        ("-99.4", 2, 0, Some("-99")),
        ("0", 2, 5, Some("0")),
    ] {
        match result {
            Some(text) => assert_eq!(n(x).fit(Some(precision), Some(scale)).unwrap().to_string(), text, "{x}"),
            None => assert!(n(x).fit(Some(precision), Some(scale)).unwrap_err().is(1438), "{x}"),
        }
    }
    shows(n("123.89").fit(None, Some(0)), "124");
    assert_eq!(n("1.2345678").fit_float(10).to_string(), "1.235");
}

#[test]
fn rests() {
    for (a, b, modulo) in [
        ("11", "4", "3"),
        ("-11", "4", "-3"),
        ("11", "-4", "3"),
        ("-11", "-4", "-3"),
        ("11", "0", "11"),
        ("5.5", "2", "1.5"),
        ("1e20", "7", "2"),
        ("0", "5", "0"),
        ("3", "5", "3"),
    ] {
        assert_eq!(n(a).modulo(&n(b)).unwrap().to_string(), modulo, "mod({a}, {b})");
    }
    for (a, b, rest) in [
        ("11", "4", "-1"),
        ("10", "4", "2"),
        ("14", "4", "-2"),
        ("6", "4", "-2"),
        ("2.5", "1", ".5"),
        ("3.5", "1", "-.5"),
    ] {
        assert_eq!(n(a).remainder(&n(b)).unwrap().to_string(), rest, "remainder({a}, {b})");
    }
    assert!(n("1").remainder(&n("0")).unwrap_err().is(1476));
}

#[test]
fn roots_powers_and_angles() {
    shows(n("2").sqrt(), "1.41421356237309504880168872420969807857");
    shows(n("4").sqrt(), "2");
    shows(n("1e-100").sqrt(), "1.0000000000000000000000000000000000E-50");
    shows(n("152399025").sqrt(), "12345");
    shows(n("1").exp(), "2.71828182845904523536028747135266249776");
    shows(n("0").exp(), "1");
    shows(n("10").ln(), "2.3025850929940456840179914546843642076");
    shows(n("2").ln(), ".6931471805599453094172321214581765680755");
    shows(n("1").ln(), "0");
    shows(Number::log(&n("10"), &n("1000")), "3");
    shows(Number::log(&n("2"), &n("1024")), "10");
    shows(n("2").power(&n("10")), "1024");
    shows(n("2").power(&n("-2")), ".25");
    shows(n("2.5").power(&n("2")), "6.25");
    shows(n("9").power(&n("0.5")), "3");
    shows(n("-2").power(&n("3")), "-8");
    shows(n("-1.5").power(&n("3")), "-3.375");
    shows(n("2").power(&n("120")), "1329227995784915872903807060280344576");
    shows(n("10").power(&n("100")).map(|x| x.div(&n("1e99")).unwrap()), "10");
    shows(n("1").sin(), ".8414709848078965066525023216302989996226");
    shows(n("1").cos(), ".5403023058681397174009366074429766037323");
    shows(n("1").tan(), "1.55740772465490223050697480745836017309");
    shows(n("1").atan(), ".7853981633974483096156608458198757210493");
    shows(n("1").asin(), "1.5707963267948966192313216916397514421");
    shows(n("-1").acos(), "3.1415926535897932384626433832795028842");
    shows(n(".5").asin(), ".5235987755982988730771072305465838140329");
    shows(n("1").sinh(), "1.17520119364380145688238185059560081516");
    shows(n("1").cosh(), "1.5430806348152437784779056207570616826");
    shows(n("1").tanh(), ".7615941559557648881194582826047935904128");
    shows(n("0").atan2(&n("-1")), "3.1415926535897932384626433832795028842");
    shows(n("100").sin(), "-.506365641109758793656557610459785432065");
    for bad in [n("-1").sqrt(), n("0").ln(), n("2").asin(), n("-2").power(&n(".5")), n("0").power(&n("-1"))] {
        assert!(bad.unwrap_err().is(1428));
    }
    assert!(n("1000").exp().unwrap_err().is(1426));
    assert!(n("10").power(&n("126")).unwrap_err().is(1426));
    shows(n("-1000").exp(), "0");
}

#[test]
fn stored_bytes_are_oracles() {
    for (x, bytes) in [
        ("0", &[0x80][..]),
        ("1", &[0xc1, 2]),
        ("100", &[0xc2, 2]),
        ("-1", &[0x3e, 100, 102]),
        ("123.45", &[0xc2, 2, 24, 46]),
        ("-123.45", &[0x3d, 100, 78, 56, 102]),
        (".5", &[0xc0, 51]),
        ("1e-130", &[0x80, 2]),
        ("9e125", &[0xff, 91]),
    ] {
        let mut out = Vec::new();
        n(x).encode(&mut out);
        assert_eq!(out, bytes, "{x}");
        assert_eq!(Number::decode(&out), Some(n(x)), "{x}");
    }
    for bad in [&[][..], &[0xc1], &[0x3e, 100], &[0xc1, 0], &[0xc1, 102], &[0x3e, 102], &[0xc1; 30]] {
        assert_eq!(Number::decode(bad), None, "{bad:?}");
    }
}

/// A number as integer coefficient and power of ten, for exact comparison.
fn arb() -> impl Strategy<Value = (i64, i32)> {
    (prop_oneof![-200i64..200, any::<i64>(), -1_000_000i64..1_000_000], -25i32..25)
}

fn number((coefficient, exponent): (i64, i32)) -> Number {
    Number::from_scaled(coefficient.into(), exponent).unwrap()
}

/// Unsigned big integers of base 10^9, least significant first, for exact checks of results.
mod model {
    use std::cmp::Ordering;

    pub type Big = Vec<u32>;

    pub fn from(mut n: u64) -> Big {
        let mut big = Vec::new();
        while n != 0 {
            big.push((n % 1_000_000_000) as u32);
            n /= 1_000_000_000;
        }
        big
    }

    pub fn mul(a: &Big, b: &Big) -> Big {
        let mut out = vec![0u64; a.len() + b.len() + 1];
        for (i, &x) in a.iter().enumerate() {
            let mut carry = 0;
            for (j, &y) in b.iter().enumerate() {
                let d = out[i + j] + u64::from(x) * u64::from(y) + carry;
                out[i + j] = d % 1_000_000_000;
                carry = d / 1_000_000_000;
            }
            out[i + b.len()] += carry;
        }
        trim(out.into_iter().map(|d| d as u32).collect())
    }

    pub fn pow10(n: i32) -> Big {
        (0..n).fold(vec![1], |big, _| mul(&big, &vec![10]))
    }

    fn trim(mut big: Big) -> Big {
        while big.last() == Some(&0) {
            big.pop();
        }
        big
    }

    pub fn cmp(a: &Big, b: &Big) -> Ordering {
        a.len().cmp(&b.len()).then_with(|| a.iter().rev().cmp(b.iter().rev()))
    }

    pub fn sub(a: &Big, b: &Big) -> Big {
        let mut out = a.clone();
        let mut borrow = 0i64;
        for (i, place) in out.iter_mut().enumerate() {
            let d = i64::from(*place) - i64::from(b.get(i).copied().unwrap_or(0)) - borrow;
            borrow = i64::from(d < 0);
            *place = (d + borrow * 1_000_000_000) as u32;
        }
        assert_eq!(borrow, 0);
        trim(out)
    }
}

/// |a| as digits and exponent, digits as a big integer.
fn exact(x: &Number) -> (model::Big, i32) {
    let mut digits = [0; 40];
    let len = x.significant_digits(&mut digits);
    let big = digits[..len].iter().fold(Vec::new(), |big, &d| {
        let mut big = model::mul(&big, &vec![10]);
        if d > 0 {
            if big.is_empty() {
                big.push(0);
            }
            big[0] += u32::from(d); // a multiple of ten has room for the digit
        }
        big
    });
    (big, x.decimal_exponent() - len as i32 + 1)
}

proptest! {
    #[test]
    fn prints_what_it_parses(x in arb()) {
        let x = number(x);
        prop_assert_eq!(n(&x.to_string()), x);
    }

    #[test]
    fn stored_form_round_trips_and_orders(a in arb(), b in arb()) {
        let (a, b) = (number(a), number(b));
        let (mut x, mut y) = (Vec::new(), Vec::new());
        a.encode(&mut x);
        b.encode(&mut y);
        prop_assert_eq!(Number::decode(&x), Some(a));
        prop_assert_eq!(x.cmp(&y), a.cmp(&b));
        prop_assert!(x.len() <= 21);
    }

    #[test]
    fn adds_as_integers_do(a in arb(), b in arb()) {
        // On a common exponent both are integers of at most 19 + 6 digits.
        let (a, b) = ((a.0, a.1.rem_euclid(6)), (b.0, b.1.rem_euclid(6)));
        let value = |(c, e): (i64, i32)| i128::from(c) * 10i128.pow(e as u32);
        for shift in [0, -3, -7] {
            let x = Number::from_scaled(value(a), shift).unwrap();
            let y = Number::from_scaled(value(b), shift).unwrap();
            prop_assert_eq!(x.add(&y).unwrap(), Number::from_scaled(value(a) + value(b), shift).unwrap());
            prop_assert_eq!(x.sub(&y).unwrap(), Number::from_scaled(value(a) - value(b), shift).unwrap());
            prop_assert_eq!(x.cmp(&y), value(a).cmp(&value(b)));
        }
    }

    #[test]
    fn multiplies_as_integers_do(a in arb(), b in arb()) {
        let product = i128::from(a.0) * i128::from(b.0);
        prop_assert_eq!(number(a).mul(&number(b)).unwrap(), Number::from_scaled(product, a.1 + b.1).unwrap());
    }

    #[test]
    fn quotient_is_the_nearest(a in arb(), b in arb()) {
        prop_assume!(a.0 != 0 && b.0 != 0);
        let (a, b) = (number(a), number(b));
        let q = a.div(&b).unwrap();
        // |a - q b| <= half a unit of the twentieth base-100 digit of q, times |b|.
        let ((ca, ea), (cb, eb), (cq, eq)) = (exact(&a), exact(&b), exact(&q));
        let unit = 2 * (q.decimal_exponent().div_euclid(2) - 19);
        let low = ea.min(eq + eb).min(unit + eb);
        let scale = |c: &model::Big, e: i32| model::mul(c, &model::pow10(e - low));
        let (x, y) = (scale(&ca, ea), scale(&model::mul(&cq, &cb), eq + eb));
        let difference = if model::cmp(&x, &y).is_lt() { model::sub(&y, &x) } else { model::sub(&x, &y) };
        let twice = model::mul(&difference, &model::from(2));
        prop_assert!(model::cmp(&twice, &scale(&cb, unit + eb)).is_le(), "{} / {} = {}", a, b, q);
        prop_assert_eq!(q.is_negative(), a.is_negative() != b.is_negative());
    }

    #[test]
    fn long_division_inverts_multiplication(a in any::<i128>(), b in any::<i64>()) {
        prop_assume!(b != 0);
        let a = a / 1_000_000_000_000_000_000_000;
        let (a, b) = (Number::from_i128(a), Number::from_i64(b));
        let product = a.mul(&b).unwrap();
        prop_assert_eq!(product.div(&b).unwrap(), a);
        if !a.is_zero() {
            prop_assert_eq!(product.div(&a).unwrap(), b);
        }
    }

    #[test]
    fn rounding_is_within_half_a_unit(x in arb(), places in -20i32..20) {
        let x = number(x);
        let rounded = x.round(places);
        let half = Number::from_scaled(5, -places - 1).unwrap();
        prop_assert!(x.sub(&rounded).unwrap().abs() <= half, "round({}, {}) = {}", x, places, rounded);
        prop_assert_eq!(rounded.round(places), rounded);
        let cut = x.trunc(places);
        prop_assert!(cut.abs() <= x.abs());
        prop_assert!(x.sub(&cut).unwrap().abs() < half.add(&half).unwrap());
    }

    #[test]
    fn parts_make_the_same_number_as_a_scaled_coefficient(whole in 0u32.., fraction in 0u64..1_000_000_000_000_000_000) {
        for fraction in [fraction, fraction % 100, fraction / 10_000_000_000 * 10_000_000_000, 0] {
            let coefficient = i128::from(whole) * 1_000_000_000_000_000_000 + i128::from(fraction);
            prop_assert_eq!(Number::from_parts(whole, fraction), Number::from_scaled(coefficient, -18).unwrap());
        }
    }

    #[test]
    fn small_numbers_are_stored_as_their_digits_are(n in 0i64..100_000_000, zeros in 0u32..8) {
        let n = Number::from_i64(n / 10i64.pow(zeros) * 10i64.pow(zeros));
        let (mut short, mut long) = (Vec::new(), Vec::new());
        n.encode(&mut short);
        n.encode_digits(&mut long);
        prop_assert_eq!(&short, &long);
        prop_assert_eq!(Number::decode(&short), Some(n));
    }

    #[test]
    fn whole_numbers_are_written_digit_by_digit(n in any::<i64>(), shift in 0u32..64) {
        for n in [n >> shift, i64::MIN, i64::MAX, 0] {
            let mut text = String::from("x");
            Number::from_i64(n).write_text(&mut text);
            prop_assert_eq!(text, format!("x{n}"));
        }
    }

    #[test]
    fn whole_parts_agree_with_the_general_conversion(x in arb()) {
        let x = number(x);
        let general = |half_up| x.decimal().round(0, half_up).map(Number::of);
        prop_assert_eq!(x.trunc(0), general(false).unwrap());
        if let Ok(rounded) = general(true) {
            prop_assert_eq!(x.round(0), rounded);
        }
    }

    #[test]
    fn doubles_round_trip(x in -1e100f64..1e100) {
        prop_assert_eq!(Number::from_f64(x).unwrap().to_f64(), x);
    }

    #[test]
    fn logarithm_inverts_the_exponential(x in -200i64..200) {
        let x = Number::from_scaled(x.into(), -1).unwrap();
        let back = x.exp().unwrap().ln().unwrap();
        prop_assert!(back.sub(&x).unwrap().abs() < n("1e-37"));
    }
}

#[test]
fn eighteen_digits_in_ten_pairs_are_a_word() {
    for (text, scale, word) in [
        ("100000128689863.141", 3, Some(100_000_128_689_863_141)),
        ("-100000128689863.141", 3, Some(-100_000_128_689_863_141)),
        ("1000001286898631.412", 3, None),
        ("100000128689863.1415", 3, None),
    ] {
        let mut bytes = Vec::new();
        n(text).encode(&mut bytes);
        assert_eq!(Number::decode_scaled(&bytes, scale), word, "{text}");
    }
}

proptest! {
    #[test]
    fn a_scaled_word_is_the_number(n in any::<i64>(), cut in 0u32..19, exponent in -24i32..24, scale in 0u8..19) {
        let coefficient = n / 10i64.pow(cut);
        let number = Number::from_scaled(coefficient.into(), exponent).unwrap();
        let mut bytes = Vec::new();
        number.encode(&mut bytes);
        let whole = number.mul(&Number::from_i64(10i64.pow(scale.into()))).unwrap();
        let word = whole.as_i64().filter(|n| n.unsigned_abs() < 10u64.pow(18));
        prop_assert_eq!(Number::decode_scaled(&bytes, scale), word);
        for behind in [&[][..], &[7; 2], &[0xFF; 9]] {
            let arena = [&[9; 3][..], &bytes, behind].concat();
            prop_assert_eq!(Number::decode_scaled_at(&arena, 3, bytes.len(), scale), word);
        }
    }
}
