/**
 * Captures the topics that the writes of a connection change, with temporary triggers: no writer can skip them, and the file does not contain them.
 * Rolled-back changes stay captured, which only causes an extra read.
 */
import type { DatabaseSync } from 'node:sqlite'
import type { Topic, TopicKind } from '../change-feed.ts'
import { TOPIC_RULES, type TopicRule } from '../topics.ts'

/** Above this number, everything counts as changed. */
const MOST = 5000

/** Starts capturing. Returns a function that drains the topics since its last call. */
export function startChangeCapture(database: DatabaseSync): () => readonly Topic[] | 'all' {
  const noted = new Set<Topic>()
  database.function('berth_note', { varargs: true }, (...words) => {
    for (let at = 0; at < words.length; at += 2) {
      const id = words[at + 1]
      if (id !== null && noted.size <= MOST) noted.add(`${words[at] as TopicKind} ${id}`)
    }
    return null
  })
  for (const [table, rule] of TOPIC_RULES) for (const trigger of triggersOf(table, rule)) database.exec(trigger)
  const accountOf = database.prepare('select account_id from project where id = ?')
  return () => {
    if (noted.size === 0) return []
    // A change in a project changes its list.
    for (const subject of [...noted]) {
      if (!subject.startsWith('project ')) continue
      const row = accountOf.get(subject.slice('project '.length))
      if (row !== undefined) noted.add(`projects ${row.account_id as string}`)
    }
    const changed = noted.size > MOST ? 'all' : [...noted]
    noted.clear()
    return changed
  }
}

function triggersOf(table: string, { of, from, deletes = true }: TopicRule): string[] {
  const words = Object.entries(of).flatMap(([kind, id]) => [`'${kind}'`, id])
  const note = `select berth_note(${words.join(', ')})${from === undefined ? '' : ` from main.${from}`}`
  const rows = { insert: ['new'], update: ['old', 'new'], ...(deletes && { delete: ['old'] }) }
  return Object.entries(rows).map(([verb, names]) => {
    const notes = names.map((name) => `${note.replaceAll(/\brow\./g, `${name}.`)};`)
    return `create temp trigger note_${table}_${verb} after ${verb} on main.${table} begin ${notes.join(' ')} end`
  })
}
