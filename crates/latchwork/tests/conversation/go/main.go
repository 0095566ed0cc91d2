// Holds the conversation of steps.txt with go-ora. Arguments: steps.txt, port, service. What is written and what the
// operations mean: python.py.
package main

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	go_ora "github.com/sijms/go-ora/v2"
	"github.com/sijms/go-ora/v2/network"
)

// Said of operations that the driver has not.
const noSuchCall = "-"

var dsn string

type line struct{ key, rest string }

type bind struct{ key, kind, text string }

type conversation struct {
	db *sql.DB
	c  *sql.Conn
	tx *sql.Tx
}

func connect(user, password string, options map[string]string) (*sql.DB, error) {
	parts := strings.SplitN(dsn, "/", 2)
	port, err := strconv.Atoi(parts[0])
	if err != nil {
		return nil, err
	}
	db, err := sql.Open("oracle", go_ora.BuildUrl("127.0.0.1", port, parts[1], user, password, options))
	if err == nil {
		db.SetMaxOpenConns(1)
	}
	return db, err
}

func cut(text string) (string, string) {
	before, after, _ := strings.Cut(text, " ")
	return before, after
}

func number(text string) any {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n
	}
	n, _ := strconv.ParseFloat(text, 64)
	return n
}

func (b bind) value() any {
	if b.key == "null" {
		switch b.kind {
		case "n":
			return sql.NullFloat64{}
		case "d":
			return sql.NullTime{}
		default:
			return sql.NullString{}
		}
	}
	switch b.kind {
	case "n":
		return number(b.text)
	case "s*":
		n, _ := strconv.Atoi(b.text)
		return strings.Repeat("y", n)
	case "d":
		t, _ := time.ParseInLocation("2006-01-02 15:04:05", b.text, time.Local)
		return go_ora.TimeStamp(t)
	case "r":
		bytes, _ := hex.DecodeString(b.text)
		return bytes
	default:
		return b.text
	}
}

func shown(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		return "'" + v + "'"
	case *sql.NullString:
		if !v.Valid {
			return "null"
		}
		return shown(v.String)
	case *sql.NullFloat64:
		if !v.Valid {
			return "null"
		}
		return shown(v.Float64)
	case []byte:
		return "0x" + hex.EncodeToString(v)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case time.Time:
		return v.Format("2006-01-02 15:04:05.999999999")
	default:
		return fmt.Sprint(v)
	}
}

func rows(r *sql.Rows, err error) (string, error) {
	if err != nil {
		return "", err
	}
	defer r.Close()
	columns, err := r.Columns()
	if err != nil {
		return "", err
	}
	var all []string
	for r.Next() {
		row := make([]any, len(columns))
		to := make([]any, len(columns))
		for at := range row {
			to[at] = &row[at]
		}
		if err := r.Scan(to...); err != nil {
			return "", err
		}
		cells := make([]string, len(columns))
		for at, v := range row {
			// Numbers come as texts when nothing is said of their type.
			if text, is := v.(string); is && isNumber(r, at) {
				cells[at] = text
			} else {
				cells[at] = shown(v)
			}
		}
		all = append(all, strings.Join(cells, " | "))
	}
	return strings.Join(all, " / "), r.Err()
}

func isNumber(r *sql.Rows, at int) bool {
	types, err := r.ColumnTypes()
	return err == nil && types[at].DatabaseTypeName() == "NUMBER"
}

func (k *conversation) cursorRows(cursor *go_ora.RefCursor) (string, error) {
	defer cursor.Close()
	set, err := go_ora.WrapRefCursor(context.Background(), k.c, cursor)
	return rows(set, err)
}

var codes = regexp.MustCompile(`[A-Z]{3}-\d{5}`)

func code(err error) string {
	var e *network.OracleError
	if errors.As(err, &e) {
		return fmt.Sprintf("ORA-%05d", e.ErrCode)
	}
	if found := codes.FindString(err.Error()); found != "" {
		return found
	}
	return err.Error()
}

func (k *conversation) exec(text string, args ...any) (sql.Result, error) {
	return k.c.ExecContext(context.Background(), text, args...)
}

func (k *conversation) query(text string, args ...any) (*sql.Rows, error) {
	return k.c.QueryContext(context.Background(), text, args...)
}

func args(binds []bind) ([]any, []any) {
	var all, outs []any
	for _, b := range binds {
		if b.key != "out" && b.key != "inout" {
			all = append(all, b.value())
			continue
		}
		var to any
		if b.kind == "n" {
			to = &sql.NullFloat64{}
		} else {
			to = &sql.NullString{String: b.text, Valid: b.key == "inout"}
		}
		outs = append(outs, to)
		all = append(all, go_ora.Out{Dest: to, Size: 200, In: b.key == "inout"})
	}
	return all, outs
}

func all(values []any, between string) string {
	var texts []string
	for _, v := range values {
		texts = append(texts, shown(v))
	}
	return strings.Join(texts, between)
}

func counted(r sql.Result, err error) (string, error) {
	if err != nil {
		return "", err
	}
	n, err := r.RowsAffected()
	return strconv.FormatInt(n, 10), err
}

// Runs a statement once for each row, or with all of them at once as slices.
func (k *conversation) many(text string, table [][]bind) (string, error) {
	var columns []any
	for at := range table[0] {
		if table[0][at].kind == "n" {
			column := make([]sql.NullFloat64, len(table))
			for row := range table {
				if n, is := number(table[row][at].text).(int64); is && table[row][at].key != "null" {
					column[row] = sql.NullFloat64{Float64: float64(n), Valid: true}
				}
			}
			columns = append(columns, column)
		} else {
			column := make([]sql.NullString, len(table))
			for row := range table {
				column[row] = sql.NullString{String: table[row][at].text, Valid: table[row][at].key != "null"}
			}
			columns = append(columns, column)
		}
	}
	return counted(k.exec(text, columns...))
}

func with(user, password string, options map[string]string, do func(*sql.DB) (string, error)) (string, error) {
	db, err := connect(user, password, options)
	if err != nil {
		return "", err
	}
	defer db.Close()
	return do(db)
}

func ask(text string) func(*sql.DB) (string, error) {
	return func(db *sql.DB) (string, error) { return rows(db.Query(text)) }
}

func (k *conversation) do(op, text string, binds []bind, table [][]bind) (string, error) {
	switch op {
	case "logon":
		user, password := cut(text)
		return with(user, password, nil, func(db *sql.DB) (string, error) { return "open", db.Ping() })
	case "query":
		values, _ := args(binds)
		for _, b := range binds {
			if b.kind == "c" {
				// The driver binds no texts of fixed length.
				return noSuchCall, nil
			}
		}
		return rows(k.query(text, values...))
	case "exec":
		values, outs := args(binds)
		said, err := counted(k.exec(text, values...))
		if err == nil && len(outs) > 0 {
			said += " : " + all(outs, " | ")
		}
		return said, err
	case "each":
		s, err := k.c.PrepareContext(context.Background(), text)
		if err != nil {
			return "", err
		}
		defer s.Close()
		var counts []string
		for _, row := range table {
			values, _ := args(row)
			n, err := counted(s.Exec(values...))
			if err != nil {
				return "", err
			}
			counts = append(counts, n)
		}
		return strings.Join(counts, " "), nil
	case "many":
		return k.many(text, table)
	case "counts":
		// The driver has no counts of an array's rows.
		for _, row := range table {
			values, _ := args(row)
			if _, err := k.exec(text, values...); err != nil {
				return "", err
			}
		}
		return noSuchCall, nil
	case "batch":
		// The driver has no errors of an array's rows.
		if _, err := k.many(text, table[1:2]); err != nil {
			return "", err
		}
		return noSuchCall, nil
	case "other":
		return with("other", "Tiger1", nil, ask(text))
	case "commit":
		return k.end((*sql.Tx).Commit)
	case "rollback":
		return k.end((*sql.Tx).Rollback)
	case "position":
		_, err := rows(k.query(text))
		var e *network.OracleError
		if errors.As(err, &e) {
			return fmt.Sprintf("%s at %d", code(err), e.ErrPos()), nil
		}
		return "", err
	case "returning":
		// The driver takes one value, and refuses what returns several.
		_, err := k.exec(strings.Replace(text, "(2, 3)", "(2)", 1), go_ora.Out{Dest: new(int64)})
		return noSuchCall, err
	case "block":
		values, outs := args(binds)
		for at, b := range binds {
			if b.kind == "b" {
				// The driver takes no truth values back.
				return noSuchCall, nil
			}
			if b.kind == "a" {
				var numbers []float64
				for _, n := range strings.Fields(b.text) {
					x, _ := strconv.ParseFloat(n, 64)
					numbers = append(numbers, x)
				}
				values[at] = numbers
			}
		}
		_, err := k.exec(text, values...)
		return all(outs, " | "), err
	case "refcursor":
		var cursor go_ora.RefCursor
		if _, err := k.exec(text, sql.Out{Dest: &cursor}); err != nil {
			return "", err
		}
		return k.cursorRows(&cursor)
	case "nested", "nestedsum", "implicit", "scroll", "lastrowid":
		if op == "lastrowid" {
			_, err := k.exec(text)
			return noSuchCall, err
		}
		return noSuchCall, nil
	case "fetch":
		_, text = cut(text)
		r, err := k.query(text)
		if err != nil {
			return "", err
		}
		defer r.Close()
		n, sum := 0, 0
		for r.Next() {
			var id int
			var name string
			if err := r.Scan(&id, &name); err != nil {
				return "", err
			}
			n, sum = n+1, sum+id
		}
		return fmt.Sprintf("%d rows, %d", n, sum), r.Err()
	case "length":
		var got string
		err := k.c.QueryRowContext(context.Background(), text).Scan(&got)
		return strconv.Itoa(len(got)), err
	case "describe":
		// The driver describes what it has executed.
		r, err := k.query(text)
		if err != nil {
			return "", err
		}
		defer r.Close()
		columns, err := r.Columns()
		return strings.Join(columns, " "), err
	case "parse":
		if strings.HasPrefix(text, "delete") {
			return noSuchCall, nil
		}
		_, err := rows(k.query(text))
		return "None", err
	case "change":
		var said []string
		for _, row := range table {
			values, _ := args(row)
			heard, err := rows(k.query(text, values...))
			if err != nil {
				return "", err
			}
			said = append(said, heard)
		}
		return strings.Join(said, ", "), nil
	case "cancel":
		after, stop := context.WithTimeout(context.Background(), 300*time.Millisecond)
		defer stop()
		_, err := k.c.ExecContext(after, text)
		if errors.Is(err, context.DeadlineExceeded) {
			return "ORA-01013", nil
		}
		return "None", err
	case "module":
		// The driver tells nothing of what runs.
		names := strings.Fields(text)
		_, err := k.exec("begin dbms_application_info.set_module(:1, :2); end;", names[0], names[1])
		return "None", err
	case "autocommit":
		// Behind the end of a transaction each statement commits.
		if _, err := k.end((*sql.Tx).Rollback); err != nil {
			return "", err
		}
		if err := k.tx.Rollback(); err != nil {
			return "", err
		}
		_, err := k.exec(text)
		k.tx, _ = k.c.BeginTx(context.Background(), nil)
		return "None", err
	case "ping":
		return "alive", k.c.PingContext(context.Background())
	case "newpassword":
		// The driver changes no password at logon.
		return noSuchCall, nil
	case "proxy":
		words := strings.Fields(text)
		said, err := with(words[0], words[1], map[string]string{"PROXY CLIENT NAME": words[2]},
			ask("select user || ' ' || sys_context('userenv', 'proxy_user') from dual"))
		return strings.Trim(said, "'"), err
	}
	return "", errors.New(op)
}

// Ends the transaction and begins another: without one the driver commits each statement.
func (k *conversation) end(how func(*sql.Tx) error) (string, error) {
	err := how(k.tx)
	if err == nil {
		k.tx, err = k.c.BeginTx(context.Background(), nil)
	}
	return "None", err
}

func values(text string) []bind {
	var row []bind
	for _, cell := range strings.Split(text, ";") {
		kind, rest := cut(strings.TrimSpace(cell))
		if kind == "null" {
			row = append(row, bind{"null", rest, ""})
		} else {
			row = append(row, bind{"bind", kind, rest})
		}
	}
	return row
}

func (k *conversation) step(lines []line) string {
	said := "None"
	for len(lines) > 0 {
		op := lines[0]
		lines = lines[1:]
		var binds []bind
		var table [][]bind
		for len(lines) > 0 && strings.Contains(" bind null out inout row ", " "+lines[0].key+" ") {
			if lines[0].key == "row" {
				table = append(table, values(lines[0].rest))
			} else {
				kind, text := cut(lines[0].rest)
				binds = append(binds, bind{lines[0].key, kind, text})
			}
			lines = lines[1:]
		}
		var err error
		if said, err = k.do(op.key, op.rest, binds, table); err != nil {
			return code(err)
		}
	}
	return said
}

func main() {
	dsn = os.Args[2] + "/" + os.Args[3]
	file, err := os.ReadFile(os.Args[1])
	must(err)
	k := &conversation{}
	k.db, err = connect("u", "Tiger1", nil)
	must(err)
	k.c, err = k.db.Conn(context.Background())
	must(err)
	k.tx, err = k.c.BeginTx(context.Background(), nil)
	must(err)
	for _, text := range regexp.MustCompile(`\n\n+`).Split(string(file), -1) {
		var lines []line
		name := ""
		for _, l := range strings.Split(text, "\n") {
			if l == "" || strings.HasPrefix(l, "#") || strings.HasPrefix(l, "=") {
				continue
			}
			if name == "" {
				name = strings.Trim(l, "[]")
				continue
			}
			key, rest := cut(l)
			lines = append(lines, line{key, rest})
		}
		if name != "" {
			fmt.Printf("%s\t%s\n", name, k.step(lines))
		}
	}
	must(k.tx.Rollback())
	must(k.c.Close())
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
