import type { DatabaseSync } from 'node:sqlite'
import { DatabaseError, inMemory, inTransaction } from '../sqlite/database.ts'

/**
 * Each migration turns a file of one version into the next version. `PRAGMA user_version` counts the migrations of a file.
 * Lists are JSON columns, because they are always read whole.
 */
const migrations: readonly string[] = [
  `
  CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE runs (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    session TEXT NOT NULL,
    state TEXT NOT NULL,
    started_ms INTEGER NOT NULL,
    ended_ms INTEGER,
    data TEXT NOT NULL
  ) STRICT;
  CREATE INDEX runs_by_session ON runs (session, seq);
  CREATE TABLE parts (
    seq INTEGER PRIMARY KEY,
    run TEXT NOT NULL,
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    data TEXT NOT NULL,
    UNIQUE (run, kind, key)
  ) STRICT;
  CREATE INDEX approvals ON parts (key) WHERE kind = 'approval';
  CREATE TABLE items (
    seq INTEGER PRIMARY KEY,
    session TEXT NOT NULL,
    run TEXT NOT NULL UNIQUE,
    data TEXT NOT NULL
  ) STRICT;
  CREATE INDEX items_by_session ON items (session, seq);
  CREATE TABLE events (
    id INTEGER PRIMARY KEY,
    session TEXT NOT NULL,
    type TEXT NOT NULL,
    time_ms INTEGER NOT NULL,
    data TEXT NOT NULL
  ) STRICT;
  CREATE INDEX events_by_session ON events (session, id);
  CREATE TABLE entries (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session TEXT NOT NULL,
    stream TEXT NOT NULL,
    time_ms INTEGER NOT NULL,
    data TEXT NOT NULL
  ) STRICT;
  CREATE INDEX entries_by_stream ON entries (session, stream, id);
  `,
  `
  CREATE TABLE texts (seq INTEGER PRIMARY KEY, run TEXT NOT NULL, number INTEGER NOT NULL, data TEXT NOT NULL) STRICT;
  CREATE INDEX texts_by_run ON texts (run, seq);
  `,
  // The id of the key that made a row. NULL: made without a key. These indexes serve keys alone, so they have no rows without one.
  // Only items are always read for one owner.
  `
  ALTER TABLE runs ADD COLUMN owner TEXT;
  CREATE INDEX runs_by_owner ON runs (session, owner, seq) WHERE owner IS NOT NULL;
  ALTER TABLE items ADD COLUMN owner TEXT;
  DROP INDEX items_by_session;
  CREATE INDEX items_by_owner ON items (session, owner, seq);
  ALTER TABLE events ADD COLUMN owner TEXT;
  CREATE INDEX events_by_owner ON events (owner, id) WHERE owner IS NOT NULL;
  ALTER TABLE entries ADD COLUMN owner TEXT;
  CREATE INDEX entries_by_owner ON entries (session, owner, stream, id) WHERE owner IS NOT NULL;
  `,
  // What a key, or nobody's key, has made in a session so far becomes one conversation with the first line as its title. Events
  // outside of runs are of no conversation. The history of a run is that of its conversation, so no index by owner is needed.
  `
  CREATE TABLE conversations (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    session TEXT NOT NULL,
    owner TEXT,
    title TEXT NOT NULL,
    created_ms INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX conversations_by_session ON conversations (session, seq);
  INSERT INTO conversations (id, session, owner, title, created_ms)
    SELECT lower(hex(randomblob(16))), session, owner, '', min(started_ms) FROM runs GROUP BY session, owner ORDER BY min(seq);
  ALTER TABLE runs ADD COLUMN conversation TEXT NOT NULL DEFAULT '';
  UPDATE runs SET conversation =
    (SELECT id FROM conversations AS c WHERE c.session = runs.session AND c.owner IS runs.owner);
  CREATE INDEX runs_by_conversation ON runs (conversation, seq, id);
  UPDATE conversations SET title =
    (SELECT CASE WHEN json_valid(data) THEN coalesce(json_extract(data, '$.text'), '') ELSE '' END
      FROM runs WHERE conversation = conversations.id ORDER BY seq LIMIT 1);
  UPDATE conversations SET title = substr(trim(substr(title, 1, instr(title || char(10), char(10)) - 1)), 1, 60);
  ALTER TABLE events ADD COLUMN conversation TEXT;
  UPDATE events SET conversation =
    (SELECT id FROM conversations AS c WHERE c.session = events.session AND c.owner IS events.owner)
    WHERE type IN ('inbound', 'fragment', 'tool', 'approval', 'diff', 'done');
  CREATE INDEX events_by_conversation ON events (conversation, id) WHERE conversation IS NOT NULL;
  DROP INDEX items_by_owner;
  `,
]

/**
 * The write that makes the log exceed this size moves it into the file, and waits for the disk meanwhile. Measured (2 cores, ext4,
 * 2026-11): an event takes 0.02 ms and with such a checkpoint up to 13 ms, a piece of a long text 1.5 ms and up to 20 ms. With
 * SQLite's default of 1000 pages, it would be up to 53 ms. Pages.
 */
const checkpointPages = 256

/**
 * Sets the pragmas of the database and migrates its tables to the newest version.
 * @throws DatabaseError, or the error of SQLite
 */
export function prepareSessions(database: DatabaseSync, file: string, maxBytes: number): void {
  const version = database.prepare('PRAGMA user_version').get()?.['user_version']
  if (typeof version !== 'number') throw new DatabaseError('damaged', `Cannot read the sessions in ${file}.`)
  if (version > migrations.length) {
    throw new DatabaseError(
      'newer',
      `${file} was written by a newer copilot-proxy. Update copilot-proxy, or move the file.`,
    )
  }
  // SQLite needs this before the first table exists.
  if (version === 0) database.exec('PRAGMA auto_vacuum = INCREMENTAL')
  // In WAL mode with NORMAL, only a checkpoint waits for the disk. A power failure may lose the last writes; a crash of this
  // process loses none.
  database.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA synchronous = NORMAL; PRAGMA secure_delete = ON')
  database.prepare(`PRAGMA wal_autocheckpoint = ${checkpointPages}`).get()
  if (file !== inMemory) database.prepare('PRAGMA journal_mode = WAL').get()
  const pageSize = database.prepare('PRAGMA page_size').get()?.['page_size']
  if (typeof pageSize === 'number') database.prepare(`PRAGMA max_page_count = ${Math.ceil(maxBytes / pageSize)}`).get()
  if (version === migrations.length) {
    // Takes the lock, and finds a truncated file now rather than in the middle of a run.
    inTransaction(database, () => database.prepare('SELECT count(*) FROM runs').get())
    return
  }
  inTransaction(database, () => {
    for (const migration of migrations.slice(version)) database.exec(migration)
    database.exec(`PRAGMA user_version = ${migrations.length}`)
  })
}
