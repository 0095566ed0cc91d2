module conversation

go 1.21

require github.com/sijms/go-ora/v2 v2.8.24
