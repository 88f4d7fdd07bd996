// Package lockstep is the root of the module; it holds no code. Start with
// package server to serve an agent, package state for when what it does becomes
// state, and the README for a program that runs.
package lockstep
