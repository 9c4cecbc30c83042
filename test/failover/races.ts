/** Two instances that create projects of the same names at the same time: each name is given once at most. */
import { setTimeout as sleep } from 'node:timers/promises'
import { sayOnce } from '../faults/line.ts'
import type { StoredProject } from '../faults/store.ts'
import { credentialsOf } from '../support/process.ts'
import type { Way } from './ways.ts'

const PREFIX = 'race-'

/** How often each name was given. */
export type Given = Map<string, number>
export type Races = { given: Given; stop(): Promise<void> }

export function startRaces({ home, instances }: Way, prefix: string): Races {
  const { token } = credentialsOf(home)
  const given: Given = new Map()
  let stopping = false
  const run = async () => {
    for (let at = 0; !stopping; at++) {
      const name = `${PREFIX}${prefix}-${at}`
      const create = ({ address }: Way['instances'][number]) =>
        sayOnce(address, 'POST', '/v10/projects', token, { name })
      const said = await Promise.all(instances.map(create))
      given.set(name, said.filter(({ status }) => status === 200).length)
      await sleep(100)
    }
  }
  const running = run()
  return {
    given,
    stop: () => {
      stopping = true
      return running
    },
  }
}

/** Takes the projects of races out of what is stored. Gives how many names were given twice, and how many of the given are not there. */
export function settleRaces(given: Given, stored: Map<string, StoredProject>): { twice: number; lost: number } {
  const isThere = (name: string) => stored.has(name)
  const twice = [...given.values()].filter((count) => count > 1).length
  const lost = [...given].filter(([name, count]) => count > 0 && !isThere(name)).length
  for (const name of stored.keys()) if (name.startsWith(PREFIX)) stored.delete(name)
  return { twice, lost }
}
