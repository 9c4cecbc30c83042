/** TABLE the worst bodies with a long list, at a share of the limits. */
import { CreateDeployment } from '../../../src/delivery/deploys/create-schema.ts'
import { readListBody } from '../../../src/platform/http/list-body.ts'
import { Refusal } from '../../../src/platform/refusals/refusal.ts'
import type { Worst } from '../../attacks/costs.ts'

const MIB = 1024 ** 2
const ROUTE = { auth: 'public', body: CreateDeployment, listBody: 'files' } as const

function listOf(count: number, make: (at: number) => string): string {
  return `{"files":[${Array.from({ length: Math.max(1, Math.round(count)) }, (_, at) => make(at)).join(',')}]}`
}

const SHA = 'a'.repeat(40)
const BODIES: Readonly<Record<string, (share: number) => string>> = {
  files: (share) => listOf(share * 20_000, (at) => `{"file":"f${at}","size":${at},"mode":33188,"sha":"${SHA}"}`),
  'unknown fields': (share) => listOf(share * 20_000, (at) => `{"file":"f${at}","a":1,"b":2,"c":3,"d":[]}`),
  'values that are not files': (share) => listOf(share * 290_000, () => '1'),
  'one item of quotes': (share) => listOf(1, () => `{"file":"f","data":"${'\\"'.repeat(share * 4 * MIB - 20)}"}`),
  'one item of text': (share) => listOf(1, () => `{"file":"f","data":"${'é'.repeat(share * 4 * MIB - 20)}"}`),
  spaces: (share) => `{"files":[${' '.repeat(share * 8 * MIB - 20)}]}`,
  'white space next to the list': (share) => `{"files":[1]${' '.repeat(share * 8 * MIB - 20)}}`,
  'strings without an end': (share) => `{"files":["${'\\'.repeat(share * 8 * MIB - 20)}`,
  'lists of its name': (share) => `{${'"files":[{}],'.repeat(share * 70_000)}"a":1}`,
  brackets: (share) => `{"files":[${'[],'.repeat(share * 140_000)}`,
  depth: (share) => `{"files":[${'['.repeat(share * 8 * MIB - 20)}`,
}

export const WORST: Worst = Object.fromEntries(
  Object.entries(BODIES).map(([name, make]) => [
    name,
    (share) => {
      const bytes = Buffer.from(make(share))
      return async () => {
        try {
          await readListBody(ROUTE, 'application/json', bytes)
        } catch (error) {
          if (!(error instanceof Refusal)) throw error
        }
      }
    },
  ]),
)
