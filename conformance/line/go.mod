module line

go 1.26
