/** What is made of each error of PostgreSQL, of the network and of the driver. src/platform/db/postgres/conditions.ts; docs/spec/reliability.md F11. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  isCut,
  isSerializationFailure,
  isStalePlan,
  mayHaveCommitted,
  refusalOf,
} from '../../../src/platform/db/postgres/conditions.ts'

/** `rolled back`: refused, and nothing was written. `lost`: refused, and a commit may have arrived. `cut`: lost, and another connection may work. */
type Condition = 'cut' | 'lost' | 'rolled back' | 'full' | 'again' | 'stale' | 'bug'

const NONE = { refused: undefined, committed: false, cut: false, again: false, stale: false }
const MEANS: Record<Condition, typeof NONE | (Omit<typeof NONE, 'refused'> & { refused: string })> = {
  cut: { ...NONE, refused: 'unavailable', committed: true, cut: true },
  lost: { ...NONE, refused: 'unavailable', committed: true },
  'rolled back': { ...NONE, refused: 'unavailable' },
  full: { ...NONE, refused: 'storage_full' },
  again: { ...NONE, again: true },
  stale: { ...NONE, again: true, stale: true },
  bug: NONE,
}

/** TABLE codes → condition. */
const CODES: readonly [Condition, string][] = [
  ['cut', '57P01 08000 08006 08P01 ECONNRESET ECONNREFUSED ECONNABORTED EPIPE ETIMEDOUT EHOSTUNREACH EHOSTDOWN'],
  ['lost', '57P02 57P03 55000 25P03 28000 28P01 3D000 53200 53300 58000 58030'],
  ['lost', 'ENETUNREACH ENETDOWN EADDRNOTAVAIL EMFILE ENFILE ENOBUFS ENOTFOUND EAI_AGAIN EAI_FAIL'],
  ['rolled back', '57014 55P03 25006'],
  ['full', '53100'],
  ['again', '40001 40P01'],
  ['stale', '26000'],
  [
    'bug',
    '23505 23503 42P01 42601 22001 0A000 57P 08 28 53 58 ECONN EHOST ENET EAI_ EACCES ERR_STREAM_PREMATURE_CLOSE',
  ],
]

/** TABLE messages of the driver, which gives no code → condition. */
const MESSAGES: readonly [Condition, string][] = [
  ['cut', 'Connection terminated'],
  ['cut', 'Connection terminated unexpectedly'],
  ['cut', 'Connection terminated due to connection timeout'],
  ['cut', 'Client has encountered a connection error and is not queryable'],
  ['lost', 'timeout exceeded when trying to connect'],
  ['lost', 'timeout expired'],
  ['lost', 'Query read timeout'],
  ['bug', 'x is not a function'],
  ['bug', ''],
]

/** TABLE what else an error says, where its code has several meanings. */
const DETAILS: readonly [Condition, object][] = [
  ['lost', { code: '0A000', routine: 'call_enum_check_hook' }],
  ['lost', { code: '0A000', routine: 'call_string_check_hook' }],
  ['lost', { code: '0A000', routine: 'GetSerializableTransactionSnapshot' }],
  ['stale', { code: '0A000', routine: 'RevalidateCachedQuery' }],
  ['bug', { code: '0A000', routine: 'transformSelectStmt' }],
  ['bug', { code: '42601', routine: 'RevalidateCachedQuery' }],
  ['bug', { code: '22023', routine: 'call_enum_check_hook' }],
  ['again', { code: '23505', constraint: 'project_stamp' }],
  ['bug', { code: '23505', constraint: 'project_stamp_name' }],
  ['bug', { code: '23514', constraint: 'project_stamp' }],
  ['lost', { code: 'EACCES', syscall: 'connect' }],
  ['bug', { code: 'EACCES', syscall: 'open' }],
  ['bug', { code: '42601', message: 'Connection terminated' }],
  ['bug', {}],
]

function isIn(condition: Condition, error: object): void {
  const found = {
    refused: refusalOf(error),
    committed: mayHaveCommitted(error),
    cut: isCut(error),
    again: isSerializationFailure(error),
    stale: isStalePlan(error),
  }
  assert.deepEqual(found, MEANS[condition], JSON.stringify(error))
}

test('a code says whether a request is refused, its transaction is tried again, and its commit may have arrived', () => {
  for (const [condition, codes] of CODES) for (const code of codes.split(' ')) isIn(condition, { code })
})

test('a code with more in front of it or behind it is another code', () => {
  for (const [, codes] of CODES)
    for (const code of codes.split(' ')) for (const other of [`X${code}`, `${code}.`]) isIn('bug', { code: other })
})

test('a message of the driver counts where no code is given', () => {
  for (const [condition, message] of MESSAGES) isIn(condition, { message })
})

test('the function of the server, the constraint and the call of the system distinguish errors of one code', () => {
  for (const [condition, error] of DETAILS) isIn(condition, error)
})
