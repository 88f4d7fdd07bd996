//go:build !race

package jsonstream

const underRace = false
