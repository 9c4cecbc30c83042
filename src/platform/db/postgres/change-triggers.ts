/**
 * Captures the topics that a transaction changes, with database triggers that no writer can skip. A transaction of this program collects them in a
 * session setting, read together with its COMMIT. Another program publishes them with NOTIFY, and waits for its lock at the commit.
 * docs/architecture.md: Caching.
 */
import { hash } from 'node:crypto'
import { type RawBuilder, sql } from 'kysely'
import type { ChangedTopics, Topic } from '../change-feed.ts'
import type { Queries } from '../db.ts'
import { TOPIC_RULES, type TopicRule } from '../topics.ts'

/** The channel of changes. A payload has the publisher (empty: another program), then one topic per line. */
export const CHANNEL = 'berth_changes'

/** Characters of captured topics. Above it, everything counts as changed. */
const MAX_CAPTURED = 16_384
/** Notifications per transaction of another program. */
const MAX_NOTIFICATIONS = 1000

/** Starts the capture in a transaction. This and `READ_CAPTURED` travel with a verb of the transaction. */
export const BEGIN_CAPTURE = "set local berth.noted = e'\\n'"
export const READ_CAPTURED = 'show berth.noted'

/** Parses the result of `READ_CAPTURED`. */
export function parseCaptured({ rows }: { rows: unknown[] }): ChangedTopics {
  const noted = (rows[0] as { 'berth.noted': string })['berth.noted']
  return noted === 'all' ? 'all' : (noted.split('\n').filter((line) => line !== '') as Topic[])
}

/** Creates or updates the change triggers. */
export async function installChangeTriggers(db: Queries): Promise<void> {
  const statements = [TELL_FUNCTION, ...TOPIC_RULES.flatMap(([table, rule]) => triggerOf(table, rule))]
  const state = hash('sha256', statements.join('\n'), 'hex')
  if ((await readTriggerHash(db)) === state) return
  await db.transaction().execute(async (tx) => {
    // Instances that start together would conflict on the functions.
    await sql`select pg_advisory_xact_lock(hashtext('berth_notes'))`.execute(tx)
    if ((await readTriggerHash(tx)) === state) return
    for (const statement of [...statements, `comment on function berth_tell(text) is '${state}'`])
      await sql.raw(statement).execute(tx)
  })
}

/** Reads the hash of the installed triggers. It is stored with their function, in the schema of the database. Another schema may belong to another Berth. */
async function readTriggerHash(db: Queries): Promise<string | null> {
  const select: RawBuilder<{ state: string | null }> = sql`
    select obj_description(p.oid, 'pg_proc') as state from pg_catalog.pg_proc p
    join pg_catalog.pg_namespace n on n.oid = p.pronamespace
    where p.proname = 'berth_tell' and n.nspname = current_schema()`
  return (await select.execute(db)).rows[0]?.state ?? null
}

/** Publishes topics, one per line, in a transaction that does not collect them. */
const TELL_FUNCTION = `create or replace function berth_tell(subjects text) returns void language plpgsql as $$
declare
  told integer := coalesce(nullif(current_setting('berth.told', true), ''), '0')::integer + 1;
begin
  if told > ${MAX_NOTIFICATIONS} then
    perform pg_notify('${CHANNEL}', e'\\nall'), set_config('berth.noted', 'all', true);
  else
    perform pg_notify('${CHANNEL}', e'\\n' || rtrim(subjects, e'\\n')), set_config('berth.told', told::text, true);
  end if;
end $$`

/** The trigger function runs in each write of the table, so it has few steps. */
function triggerOf(table: string, { of, from, deletes = true }: TopicRule): string[] {
  const name = `note_${table}`
  const subjects = Object.entries(of)
    .map(([kind, id]) => `'${kind} ' || ${id} || e'\\n'`)
    .join(' || ')
  const query = from === undefined ? subjects : `(select string_agg(${subjects}, '') from ${from})`
  const noteOf = (row: 'old' | 'new') => query.replaceAll(/\brow\./g, `${row}.`)
  return [
    `create or replace function ${name}() returns trigger language plpgsql as $$
declare
  noted text := current_setting('berth.noted', true);
  subjects text;
begin
  if noted = 'all' then
    return null;
  elsif tg_op = 'INSERT' then
    subjects := ${noteOf('new')};
  elsif tg_op = 'DELETE' then
    subjects := ${noteOf('old')};
  else
    subjects := concat(${noteOf('old')}, nullif(${noteOf('new')}, ${noteOf('old')}));
  end if;
  if noted <> '' then
    if strpos(noted, e'\\n' || subjects) = 0 then
      perform set_config(
        'berth.noted', case when length(noted) > ${MAX_CAPTURED} then 'all' else noted || subjects end, true);
    end if;
  elsif subjects <> '' then
    perform berth_tell(subjects);
  end if;
  return null;
end $$`,
    `drop trigger if exists ${name} on ${table}`,
    `create trigger ${name} after insert or update${deletes ? ' or delete' : ''} on ${table}
for each row execute function ${name}()`,
  ]
}
