// Package jsondoc is about JSON documents that change: immutable values, and
// the patches, differences and merges that lead from one to the next.
package jsondoc
