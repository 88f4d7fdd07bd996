// Package sqlite is a thread store in one file: the binary's default, for one
// process on one machine. It needs no cgo.
//
// What can be relied on:
//
//  1. When Append returns nil its entries are on disk: the process may be
//     killed, the machine may lose power, and they are there. (SQLite's WAL with
//     synchronous=FULL: the log is synced before a commit is acknowledged. A
//     disk that lies about that is beyond any program.)
//  2. An append is stored whole or not at all, and what a file holds after a
//     crash is what was appended up to some moment, nothing else: each log is
//     dense from its first entry on. An append that was not acknowledged may
//     have been stored.
//  3. Appends that arrive while another is being synced share the next sync.
//     There is no timer: a lone append waits for nobody. One that is refused or
//     fails takes no other with it.
//  4. Readers are not held up by the writer and hold nobody up: no connection
//     is kept while a reader is busy with what it read, unless its log is
//     compacted under it.
//  5. One process owns a file. Another gets [*HeldError]. The owner's lock ends
//     with the process however it ends; nothing has to be cleaned up.
//  6. Where there is no room, or the file system turned read-only, Append fails
//     and stores nothing; reads go on, and so do appends once that is over.
//  7. What was forgotten or compacted away is overwritten, not just unlinked.
//     Copies remain in the write-ahead log until the next checkpoint.
//
// # Files
//
// Beside FILE there are FILE-wal and FILE-shm, which belong to SQLite and hold
// the newest appends while the store is open; FILE-lock, which is empty and
// locked; and FILE-owner, which says in JSON who has the lock. All are made
// readable for their user only. Close folds the write-ahead log into FILE, so
// that a closed store is one file (the lock file stays, it means nothing).
//
// # Backup and moving
//
// While the store is open, copy it from another process:
//
//	sqlite3 lockstep.db "VACUUM INTO 'backup.db'"
//
// or with a snapshot of the file system that takes FILE and FILE-wal at one
// moment. Plain copies made while there are appends are worth nothing, and a
// program that holds this store must not even open FILE by other means: closing
// it would drop SQLite's locks (POSIX locks end with any descriptor). To move a
// store, close it and move FILE; after a crash, move FILE and FILE-wal
// together. Files are the same on all machines. A network file system without
// reliable locks is no place for one, and neither is a file with a second hard
// link: both would defeat the single owner.
//
// The file does not shrink by itself: room of forgotten threads is used again.
// VACUUM INTO writes a compact one.
package sqlite
