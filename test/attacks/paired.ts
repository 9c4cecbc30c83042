/**
 * Whether the time of an answer distinguishes two kinds of request, on a machine that others use too. Both kinds are asked one right after the
 * other, in random order, so what the machine does meets both alike. The sign of each difference counts and not its size: one slow answer
 * weighs no more than another. docs/threats.md: Timing attacks.
 */
import assert from 'node:assert/strict'
import type { World } from '../support/world.ts'
import { sayFigure } from './form.ts'

/** The count of signs is so many standard deviations from a half: less than once in 100,000 by chance, and twice in a row never. */
const MAX_Z = 4.5
/** How many requests of a kind are made beforehand. */
const KINDS = 200

export type Request = { method: 'GET' | 'POST'; url: string; headers: Record<string, string>; payload?: string }
/** Requests that differ in nothing but what they say. `spinUs`: how much longer each takes, for the control. */
export type Kind = { name: string; requests: Request[]; spinUs?: number }

export function many(make: () => Request): Request[] {
  return Array.from({ length: KINDS }, make)
}

/** How fine it is. `pairs`: of requests, in two rounds. `leastUs`: a smaller median of the differences is not a leak. `controlUs`: what takes so much longer must be seen. */
export type Fineness = { pairs: number; leastUs: number; controlUs: number }

/** Compares the kinds by twos, and a control. Throws where time distinguishes two, or does not distinguish the control. */
export async function mustNotTell(world: World, kinds: readonly [Kind, Kind][], fineness: Fineness): Promise<void> {
  const told: string[] = []
  for (const [left, right] of kinds) {
    const { text, differs } = await compare(world, left, right, fineness)
    sayFigure(`timing of the sign-in: ${text}`)
    if (differs) told.push(text)
  }
  const [[plain]] = kinds as [[Kind, Kind]]
  const slow = { ...plain, name: `the same and ${fineness.controlUs} µs`, spinUs: fineness.controlUs }
  const control = await compare(world, slow, plain, fineness)
  sayFigure(`timing of the sign-in, control: ${control.text}`)
  assert.deepEqual(told, [])
  assert.ok(control.differs, `what takes ${fineness.controlUs} µs longer was not seen: ${control.text}`)
}

/** Two rounds: two kinds differ when both say so, in the same direction, by more than the least. */
async function compare(world: World, left: Kind, right: Kind, { pairs, leastUs }: Fineness) {
  const rounds = [await measure(world, left, right, pairs / 2), await measure(world, left, right, pairs / 2)]
  const isSlower = (sign: 1 | -1) => rounds.every(({ z, us }) => sign * z > MAX_Z && sign * us > leastUs)
  const said = rounds.map(({ z, us }) => `z = ${z.toFixed(1)} (${us.toFixed(1)} µs)`).join(', ')
  return { text: `${left.name} - ${right.name}: ${said}, of ${pairs} pairs`, differs: isSlower(1) || isSlower(-1) }
}

/** How far the count of signs is from a half, and the median of the differences in µs. */
async function measure(world: World, left: Kind, right: Kind, pairs: number): Promise<{ z: number; us: number }> {
  // What waits for ten minutes, or ends after five, does not do so on a slow machine.
  const now = world.deps.clock.now()
  const differences: number[] = []
  const warm = Math.floor(pairs / 10)
  for (let at = -warm; at < pairs; at++) {
    world.deps.clock.set(now)
    const isLeftFirst = Math.random() < 0.5
    const first = await time(world, isLeftFirst ? left : right)
    const second = await time(world, isLeftFirst ? right : left)
    if (at >= 0) differences.push(isLeftFirst ? first - second : second - first)
  }
  const slower = differences.filter((one) => one > 0).length
  const counted = differences.filter((one) => one !== 0).length
  const median = differences.sort((a, b) => a - b)[Math.floor(differences.length / 2)]!
  return { z: (2 * slower - counted) / Math.sqrt(counted), us: median }
}

/** How long one of the requests takes, in µs. */
async function time(world: World, { name, requests, spinUs }: Kind): Promise<number> {
  const request = requests[Math.floor(Math.random() * requests.length)]!
  // What was remembered of the store is evicted: the first request learns the most.
  await world.deps.db.write(async () => {})
  const before = performance.now()
  const { statusCode } = await world.app.inject(request)
  if (spinUs !== undefined) spin(spinUs)
  const took = performance.now() - before
  assert.ok([401, 403, 404].includes(statusCode), `${name}: ${statusCode}`)
  return took * 1000
}

function spin(us: number): void {
  const end = performance.now() + us / 1000
  while (performance.now() < end);
}
