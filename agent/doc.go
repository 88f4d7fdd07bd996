// Package agent answers one question: what is an agent?
package agent
