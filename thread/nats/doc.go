// Package nats is a thread store in a NATS JetStream stream, for several
// processes that serve the same threads without a database. The servers are the
// operator's; this package is a client of theirs. It needs nats-server 2.11 or
// newer.
//
// What can be relied on:
//
//  1. Processes share a store. An append is stored if and only if the log ends
//     where its writer thinks, whoever else appends, compacts or forgets.
//  2. An append is one message, and so whole or not there at all, however large
//     it is; a compaction and a forgetting are one message, too. A process may
//     die at any step of anything: each log is what it was before or what it is
//     behind, and what else was left is removed later.
//  3. Reads are of one moment, and see what was acknowledged before they began,
//     from whichever process: the stream's leader says where a log ends, and
//     what the copies answer has to join with that.
//  4. What a log is made of is checked when it is read. Missing messages are an
//     error, never a shorter log.
//  5. A Tail goes on over lost connections, restarts of servers, changes of
//     leaders and compactions, without a gap or a repetition. It hears of an
//     append from the server, and finds within about a second what it did not
//     hear of.
//  6. "Wrong last sequence" from a server is no proof of another writer, and
//     never becomes a conflict unless the log really moved on.
//
// # What an acknowledgement is worth
//
// That is the servers' configuration, and no client can see it. By default a
// server that acknowledged a message has it in the operating system's memory and
// syncs every two minutes: it survives that the server is killed, but on one
// server not that the power fails. With
//
//	jetstream { sync_interval: always }
//
// it is on the disk first, which costs about ten times as much. replicas=3 keeps
// each entry on three servers, of which two have it before it is acknowledged;
// then one of them may lose power. Both together lose nothing. Open warns where
// a stream has one replica.
//
// # The stream
//
// One stream, named by the prefix ("lockstep"), holds everything:
//
//	lockstep.log.OWNER.KEY         messages of one log, in order
//	lockstep.data.OWNER.KEY.NAME   messages of a segment
//	lockstep.new.…                 news of both, as the server publishes them
//
// OWNER stands for agent and principal, KEY for all three parts of a
// thread.Key; both are hashes, since keys are any bytes of any length. A client
// needs to publish on lockstep.log.>, lockstep.data.> and $JS.API.>, and to
// subscribe to lockstep.new.> and _INBOX.>.
//
// A message of a log has in its header "Lockstep", as JSON, the key, where the
// log ends behind it, and the numbers in the stream of up to 32 messages before
// it. In its body are the entries, a line of JSON each. So a log is read from
// its end: one question to the leader, and one to any server for each 32
// messages. Asking the server for the messages of a subject instead makes it
// search all blocks in between, and a thread that is used once a week has the
// messages of everybody's week in between (measured: 100 messages with 100 000
// of others between them took 18 ms that way, and 2.7 ms this way).
//
// An append expects the number of the log's last message. Entries that are too
// large for one message (32 KB, or what the server takes) go before it as a
// segment, to which it points; until then nothing does, so nobody sees them. One
// stream and not two, because its order is then the order of what is kept: who
// has the message has the segment.
//
// A compaction is a message of that kind with the header Nats-Rollup, by which
// the server replaces all others of the log. It points to the segments that stay
// as they are, so that a compaction costs what changed. Generations of a log
// that follow each other, each on a subject of its own, would need a fence, a
// commit and a clean-up, and readers who know of all three. A log is forgotten
// by such a message that says so; it is removed when the segments are, and if
// that does not come to its end whoever next lists threads goes on.
//
// There is no index that could disagree with the logs. Lists and the search for
// old threads get the last message of each log; they are kept small for that. So
// a page of a list costs what the principal has threads (1000: about 20 ms), and
// a search for old ones what all have.
//
// # Memory
//
// A reader holds what it reads, undecoded, until it is through, because a server
// keeps no old versions for it. Everything else is bounded: 4096 ends of logs and
// 8192 news.
package nats
