// The tasks of driver_speed.py in Go: go-ora beside pgx, both through database/sql. Arguments: the URL of Latchwork,
// where rows are asked for by %d, and that of PostgreSQL. Each line of the input names a database and a task, each line
// of the output is how many were done in how many seconds.
package main

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	_ "github.com/sijms/go-ora/v2"
)

const rows = 1_000_000
const many = 10_000

var ctx = context.Background()

func must[T any](value T, err error) T {
	check(err)
	return value
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// A database by the connections to it.
type database struct {
	postgres bool
	url      string
	open     map[int]*sql.Conn
}

func (d *database) pool(fetch int) *sql.DB {
	driver, url := "pgx", d.url
	if !d.postgres {
		driver, url = "oracle", fmt.Sprintf(d.url, fetch)
	}
	return must(sql.Open(driver, url))
}

// The connection that asks for so many rows at a time. PostgreSQL sends all, whatever is asked for.
func (d *database) by(fetch int) *sql.Conn {
	if d.postgres {
		fetch = 0
	}
	if d.open[fetch] == nil {
		d.open[fetch] = must(d.pool(fetch).Conn(ctx))
	}
	return d.open[fetch]
}

func (d *database) text(sql string) string {
	if d.postgres {
		return strings.ReplaceAll(sql, ":", "$")
	}
	return sql
}

func (d *database) dual() string {
	if d.postgres {
		return "select 1"
	}
	return "select 1 from dual"
}

func (d *database) server() int {
	text := "select pg_backend_pid()"
	if !d.postgres {
		text = "select to_number(p.spid) from v$process p join v$session s on s.paddr = p.addr " +
			"where s.sid = sys_context('userenv', 'sid')"
	}
	var pid int
	check(d.by(100).QueryRowContext(ctx, text).Scan(&pid))
	return pid
}

func (d *database) single(c *sql.Conn, times int) {
	text, name := d.text("select name from big where id = :1"), ""
	for n := range times {
		check(c.QueryRowContext(ctx, text, n*7919%rows+1).Scan(&name))
	}
}

func (d *database) prepared(c *sql.Conn, times int) {
	text, name := d.text("select name from big where id = :1"), ""
	statement := must(c.PrepareContext(ctx, text))
	defer statement.Close()
	for n := range times {
		check(statement.QueryRowContext(ctx, n*7919%rows+1).Scan(&name))
	}
}

func (d *database) sixteen() (int, time.Duration) {
	const each = 1000
	var ready, done sync.WaitGroup
	begin := make(chan struct{})
	for range 16 {
		ready.Add(1)
		done.Add(1)
		go func() {
			defer done.Done()
			db := d.pool(100)
			defer db.Close()
			c := must(db.Conn(ctx))
			d.prepared(c, 10)
			ready.Done()
			<-begin
			d.prepared(c, each)
		}()
	}
	ready.Wait()
	from := time.Now()
	close(begin)
	done.Wait()
	return 16 * each, time.Since(from)
}

func (d *database) million(fetch int) {
	found := must(d.by(fetch).QueryContext(ctx, "select id, name from big"))
	count := 0
	for found.Next() {
		var id int
		var name string
		check(found.Scan(&id, &name))
		count++
	}
	check(found.Err())
	if count != rows {
		check(fmt.Errorf("%d rows", count))
	}
}

func (d *database) change(c *sql.Conn, text string, ids []int, names []string) {
	transaction := must(c.BeginTx(ctx, nil))
	if !d.postgres {
		values := []any{ids}
		if names != nil {
			values = []any{ids, names}
		}
		must(transaction.ExecContext(ctx, text, values...))
		check(transaction.Commit())
		return
	}
	check(c.Raw(func(raw any) error {
		batch := &pgx.Batch{}
		for n, id := range ids {
			if names == nil {
				batch.Queue(d.text(text), id)
			} else {
				batch.Queue(d.text(text), id, names[n])
			}
		}
		return raw.(*stdlib.Conn).Conn().SendBatch(ctx, batch).Close()
	}))
	check(transaction.Commit())
}

func (d *database) array(task string) (int, time.Duration) {
	c := d.by(100)
	if task == "insert" {
		must(c.ExecContext(ctx, "delete from small"))
	}
	ids, names := make([]int, many), make([]string, many)
	for n := range many {
		ids[n], names[n] = n, task+" "+strconv.Itoa(n)
	}
	from := time.Now()
	switch task {
	case "insert":
		d.change(c, "insert into small (id, name) values (:1, :2)", ids, names)
	case "update":
		// go-ora binds by place.
		text := "update small set name = :2 where id = :1"
		if d.postgres {
			d.change(c, text, ids, names)
		} else {
			transaction := must(c.BeginTx(ctx, nil))
			must(transaction.ExecContext(ctx, text, names, ids))
			check(transaction.Commit())
		}
	case "delete":
		d.change(c, "delete from small where id = :1", ids, nil)
	}
	return many, time.Since(from)
}

func (d *database) connects(times int) {
	for range times {
		db, one := d.pool(100), 0
		check(db.QueryRowContext(ctx, d.dual()).Scan(&one))
		check(db.Close())
	}
}

func (d *database) do(task string) (int, time.Duration) {
	from, done := time.Now(), 0
	word, number, _ := strings.Cut(task, " ")
	switch word {
	case "one":
		done = 5000
		d.single(d.by(100), done)
	case "prepared":
		done = 5000
		d.prepared(d.by(100), done)
	case "sixteen":
		return d.sixteen()
	case "million":
		done = rows
		d.million(must(strconv.Atoi(number)))
	case "array":
		return d.array(number)
	case "connects":
		done = 50
		d.connects(done)
	default:
		check(fmt.Errorf("no task %q", task))
	}
	return done, time.Since(from)
}

func main() {
	databases := map[string]*database{
		"Latchwork":  {url: os.Args[1], open: map[int]*sql.Conn{}},
		"PostgreSQL": {url: os.Args[2], open: map[int]*sql.Conn{}, postgres: true},
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		name, task, _ := strings.Cut(lines.Text(), " ")
		if task == "server" {
			fmt.Println(databases[name].server(), 0)
			continue
		}
		done, took := databases[name].do(task)
		fmt.Println(done, took.Seconds())
	}
}
