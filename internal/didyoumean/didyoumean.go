// Package didyoumean finds the name that somebody meant who wrote another one. It knows no names.
package didyoumean

import (
	"cmp"
	"slices"
)

// longest is the longest word that is looked at, in bytes: the work grows with its square.
const longest = 100

// Name returns the one of names that is fewest changes away from a word, the first of several;
// "" if none is alike.
func Name(word string, names []string) string {
	if word == "" || len(word) > longest || len(names) == 0 {
		return ""
	}
	best := slices.MinFunc(names, func(a, b string) int { return cmp.Compare(distance(word, a), distance(word, b)) })
	if d := distance(word, best); d > max(2, len(word)/3) || d >= len(word) {
		return ""
	}
	return best
}

// distance counts the letters to insert, delete, replace or swap with their
// neighbour to make b of a.
func distance(a, b string) int {
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			change := 0
			if a[i] != b[j] {
				change = 1
			}
			row[j+1] = min(last[j+1]+1, row[j]+1, last[j]+change)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
