/** The calls of one SDK for one account: what it called, and what went wrong. */

import assert from 'node:assert/strict'
import { withQuery } from '../support/call.ts'
import type { DnsServer } from '../support/servers/dns-server.ts'
import type { Method, World } from '../support/world.ts'
import type { GitHosts } from '../support/worlds/full-project.ts'
import { type Decoded, isBefore, type Sdk } from './sdk-client.ts'

export type Remark = { outcome: 'works'; why: string } | { outcome: 'differs'; why: string }

export type Story = {
  world: World
  sdk: Sdk
  dns: DnsServer
  hosts: GitHosts
  /** `person` or `team`: names that must differ between the two carry it. */
  label: string
  accountId: string
  /** What every call says of the account. */
  team: { teamId?: string }
  called: Set<string>
  faults: string[]
  /** What this version makes less of than was answered, or cannot read at all because versions of the SDK contradict each other. */
  remarks: Map<string, Remark>
  /** This version has a method for the operation, and Berth a route. */
  has(operation: string): boolean
  /** Was published before this one. */
  before(version: string): boolean
  /**
   * Calls the method, when this version has it, and checks the response. Failures are reported at the end, with all others. `by`: the
   * SDK of another user.
   */
  use(operation: string, request: object, check?: (answer: Decoded) => unknown, by?: Sdk): Promise<Decoded>
  /** Calls the method, which must be refused; the check gets the error. */
  refused(operation: string, request: object, check: (error: Decoded) => unknown): Promise<void>
  /** Over plain HTTP, for this account: what the SDK cannot say, and what is there when it decodes nothing. */
  raw(method: Method, path: string, body?: unknown): Promise<Decoded>
}

const UNASKABLE: Remark = {
  outcome: 'differs',
  why: 'These versions were published with a method that does not take `teamId`, and throws without it: no request is sent.',
}

type Account = Pick<Story, 'label' | 'accountId' | 'team'>
type Around = Pick<Story, 'dns' | 'hosts'>

export function newStory(world: World, sdk: Sdk, account: Account, around: Around): Story {
  const called = new Set<string>(sdk.unaskable)
  const remarks: Story['remarks'] = new Map([...sdk.unaskable].map((operation) => [operation, UNASKABLE]))
  const faults: string[] = []
  const told = <A>(operation: string, run: () => A | Promise<A>): Promise<A | undefined> =>
    Promise.try(run).catch((error) => {
      faults.push(`${account.label}: ${operation}: ${faultOf(error)}`)
      return undefined
    })
  return {
    ...{ world, sdk, called, faults, remarks },
    ...account,
    ...around,
    has: (operation) => sdk.methods.has(operation),
    before: (version) => isBefore(sdk.version, version),
    use: async (operation, request, check = () => {}, by = sdk) => {
      const method = by.methods.get(operation)
      if (method === undefined || sdk.unaskable.has(operation)) return undefined
      called.add(operation)
      const answer = await told(operation, () => method({ ...account.team, ...request }))
      await told(operation, () => check(answer))
      return answer
    },
    refused: async (operation, request, check) => {
      const method = sdk.methods.get(operation)
      if (method === undefined) return
      await told(operation, async () => {
        const error = await method({ ...account.team, ...request }).then(
          () => assert.fail('was not refused'),
          (rejected) => rejected,
        )
        if (error instanceof assert.AssertionError) throw error
        await check(error)
      })
    },
    raw: async (method, path, body) => {
      const query = new URLSearchParams(account.team).toString()
      const answer = await world.call.try(method, withQuery(path, query), body)
      assert.ok(answer.status < 300, `${method} ${path}: ${answer.text}`)
      return answer.body
    },
  }
}

function faultOf(error: Decoded): string {
  const why = error.cause ?? error.pretty?.() ?? ''
  const where = /sdk-[a-z]+\.ts:\d+/.exec(String(error.stack).replaceAll('sdk-story.ts', ''))?.[0] ?? ''
  return `${error.name} ${String(error.message).slice(0, 400)} ${String(why).slice(0, 600)} ${where}`
}
