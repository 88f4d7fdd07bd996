// Package postgres is a thread store in a PostgreSQL database, for several
// processes that serve the same threads.
//
// What can be relied on:
//
//  1. Processes share a store. An append is stored if and only if the log ends
//     where its writer thinks, whoever else appends, compacts or forgets.
//  2. An append is one statement, and a compaction one transaction: stored whole
//     or not at all. A process may die at any moment; nothing has to be cleaned
//     up by anybody. When Append returns nil the entries are as durable as the
//     server makes a commit: on its disk, unless synchronous_commit or fsync was
//     turned off there. When a connection breaks during an append, nobody knows
//     whether it was stored until they ask for the head.
//  3. Reads are of one moment, and see what was acknowledged before they began,
//     by whichever process. They hold neither a connection nor a transaction
//     while a reader is busy with what it read, however slow it is.
//  4. A Tail goes on over lost connections and restarts of the server, without a
//     gap or a repetition. It hears of an append from the server, and finds
//     within about a second what it did not hear of.
//  5. Missing entries are an error, never a shorter log.
//
// # Tables
//
// They are in the first schema of the connection's search_path and are made when
// they are not there: lockstep_schema, lockstep_logs, lockstep_entries and
// lockstep_replaced. The role needs CREATE on the schema for that once, later
// SELECT, INSERT, UPDATE and DELETE on the tables. Several stores in one database are
// told apart by their search_path, for example
// postgres://HOST/DATABASE?search_path=lockstep.
//
// A log has one row, which says where it ends, and a row for each entry. Keys
// are any bytes of any length, which an index does not take, so rows are found by
// hashes of them.
//
// # Old versions
//
// A reader may be slow: it reads as fast as somebody's browser takes what it
// reads. A transaction that lasts as long would take a connection away from
// others, and would keep the server from cleaning up anything in the whole
// database. So a compaction removes nothing at first. It adds its entries under
// its number, and a row of lockstep_replaced that says which others they stand
// for; to forget a log is to remove its row. Readers know how many compactions
// there were when they began and see what was there then. The old rows are
// removed about ten minutes later. A reader that has not come to them by then
// gets an error.
//
// # Notifications
//
// A transaction that sends one (NOTIFY) holds a lock of the whole database while
// it is written to the disk, so commits of all threads would go one after the
// other. They are therefore sent behind the commit, many at once, and what is
// lost between the two is found by the question that each process asks once a
// second: which of the logs that somebody waits for here have grown. A
// notification has no contents; it only makes a tail look.
//
// Each process has one connection that listens. It has to be a session of its
// own: where a pooler gives each transaction another one, name the server itself.
package postgres
