//go:build race

package jsonstream

// underRace is whether the race detector is on, which makes everything so much
// slower that times say nothing.
const underRace = true
