// Package jsondoc is about JSON documents that change: immutable values, and the
// patches, differences and merges that lead from one to the next.
//
// What can be relied on:
//
//  1. A [Value] never changes. Every change makes a new value that shares with
//     the old one what is the same in both; any number of goroutines may use
//     either. Keeping all versions of a document costs what changed between them.
//  2. What was read is what is written: the digits of numbers, the order of
//     members, null apart from absent, every name (__proto__ and "" included),
//     every Unicode character. Only white space and the way a character is
//     escaped may differ.
//  3. What readers of JSON are known to disagree on is refused, not repaired:
//     repeated names, bytes that are not UTF-8, halves of surrogate pairs. Who
//     wants to be lenient says so in [ParseOptions].
//  4. A patch applies as a whole or not at all, by RFC 6902 to the letter.
//  5. [Diff] gives b when its patch is applied to a, by any implementation of RFC
//  6902. [Patch.Inverse] gives the document back.
//  6. [Merge] loses no edit of either side without listing it as a conflict.
//  7. Text and patches from outside cannot cause a panic, and what they can cost
//     is bounded: by their depth, by the size of the result, and in Diff and
//     Merge by a fixed multiple of the size of the documents.
//
// # Equality
//
// There is one rule for numbers, in two strengths. Two numbers are equal if they
// have the same value, exactly and in decimals: 1 equals 1.0, and 2^53 is not
// 2^53+1. That is [Equal], and the test operation. A change is any difference in
// the text: [Diff] and [Merge] see that 1 became 1.0, because who asked for it
// would otherwise not get it. [NumberRule] names these and a third one, for
// documents that went through a JavaScript client. The order of members is never
// a difference.
//
// # Errors
//
// What is wrong with a document or a patch is said without this package's name in
// front, as encoding/json does it: such texts are meant for whoever wrote the
// document, and reach people and models through answers, logs and tools' results.
//
// # Cost
//
// Changing one place copies the containers on the way to it, of large ones a few
// hundred bytes; the size of the document does not matter. Diff and Merge skip
// what two documents share. It pays, therefore, to make one version from the
// other, and to parse a newer text of a document with [ParseOptions].Like.
//
// # Deviations from the standards
//
// RFC 6901, 6902 and 7396 are followed without extensions. [Value.Canonical]
// keeps numbers that RFC 8785 would round. RFC 8259 is followed except for the
// limits and refusals above; a byte order mark is refused, which it allows.
package jsondoc
