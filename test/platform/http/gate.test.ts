/** Accounts take turns, few requests of one run at once, and a request that waits too long is refused. docs/limits.md. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { groupCommit, type Writer } from '../../../src/platform/db/sqlite/group-commit.ts'
import { createFairQueue } from '../../../src/platform/fairness/fair-queue.ts'
import { createGate, createGates } from '../../../src/platform/fairness/gate.ts'
import { createSemaphore } from '../../../src/platform/fairness/semaphore.ts'
import { Refusal } from '../../../src/platform/refusals/refusal.ts'
import { eventually } from '../../support/eventually.ts'
import { onBothEngines, type World } from '../../support/world.ts'

/**
 * Lets the clock stand still for a test, and gives what keeps this iteration of the event loop busy for some ms: on a machine that is busy
 * itself, an iteration takes longer than what runs in it.
 */
function openTime(t: TestContext): (ms: number) => void {
  let now = performance.now()
  t.mock.method(performance, 'now', () => now)
  return (ms) => {
    now += ms
  }
}

const turns = async (count: number) => {
  for (let n = 0; n < count; n++) await nextTurn()
}

test('owners in a queue take turns, items of one keep their order, and an owner who may not run is skipped', () => {
  const line = createFairQueue<string>()
  for (const item of ['a1', 'a2', 'a3', 'b1', 'c1', 'c2']) line.push(item[0]!, item)
  line.remove('a', 'a2')
  line.remove('b', 'c1')
  line.remove('z', 'a1')
  assert.deepEqual([line.size(), line.sizeOf('a'), line.sizeOf('z')], [5, 2, 0])
  assert.equal(
    line.shift((owner) => owner === 'c'),
    'c1',
  )
  assert.deepEqual(
    [line.shift(), line.shift(), line.shift(), line.shift(), line.shift()],
    ['a1', 'b1', 'c2', 'a3', undefined],
  )
  assert.equal(line.size(), 0)
})

test('a semaphore gives no slot past those of the owner that wait, and leaves no timer behind', async () => {
  let open = false
  const semaphore = createSemaphore({ canAcquire: () => open })
  const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
  const before = timers()
  const waiting = semaphore.acquire('a', 60_000)
  open = true
  assert.deepEqual([semaphore.tryAcquire('a'), semaphore.tryAcquire('b'), semaphore.waiting('a')], [false, true, 1])
  semaphore.recheck()
  assert.equal(await waiting, true)
  assert.equal(timers(), before)
})

test('a semaphore gives no slot to one who left, also before the question', async () => {
  const semaphore = createSemaphore({ slots: 1 })
  assert.equal(await semaphore.acquire('a', undefined, AbortSignal.abort()), false)
  const leaving = new AbortController()
  assert.equal(await semaphore.acquire('a', undefined, leaving.signal), true)
  const waiting = semaphore.acquire('b', undefined, leaving.signal)
  leaving.abort()
  assert.equal(await waiting, false)
  semaphore.release('a')
  assert.equal(semaphore.tryAcquire('c'), true)
})

test('a limited number of requests of an account run at once, the others wait, and the 257th of them is refused', async (t) => {
  openTime(t)
  const gate = createGate({ maxPerOwner: 2 })
  await nextTurn()
  assert.deepEqual([gate.enter('a'), gate.enter('a')], [undefined, undefined])
  let entered = 0
  const waiting = Array.from({ length: 256 }, () => gate.enter('a')!.then(() => entered++))
  assert.throws(
    () => gate.enter('a'),
    (error) => error instanceof Refusal && error.key === 'rate_limited' && error.headers?.['retry-after'] === '1',
  )
  await nextTurn()
  assert.equal(gate.enter('b'), undefined, 'another one is admitted at once')
  await turns(5)
  assert.equal(entered, 0)
  for (let n = 0; n < 256; n++) {
    gate.leave('a')
    await turns(2)
    assert.equal(entered, n + 1)
  }
  await Promise.all(waiting)
})

test('after a long turn all wait for the next, in which accounts take turns', async (t) => {
  const busy = openTime(t)
  const gate = createGate({ maxPerOwner: 1000 })
  await nextTurn()
  gate.enter('a')
  busy(10)
  const order: string[] = []
  const ask = (owner: string) =>
    gate.enter(owner)?.then(() => {
      order.push(owner)
      busy(10)
    })
  const all = [...Array.from({ length: 5 }, () => ask('a')), ask('b')]
  await Promise.all(all)
  assert.deepEqual(order, ['a', 'b', 'a', 'a', 'a', 'a'])
  // One a turn, as each of them fills it.
  await nextTurn()
  assert.equal(gate.enter('a'), undefined)
})

test('a request that waited for 10 s is refused and takes no slot; the gate looks again when something has changed', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  let hasCapacity = false
  const gate = createGate({ maxPerOwner: 1, maxTotal: 1, canEnter: () => hasCapacity })
  const first = gate.enter('a')!
  t.mock.timers.tick(9_999)
  const second = gate.enter('a')!
  t.mock.timers.tick(1)
  await assert.rejects(first, (error) => error instanceof Refusal && error.key === 'rate_limited')
  hasCapacity = true
  gate.recheck()
  await second
  const others = [gate.enter('b'), gate.enter('c')]
  let came = 0
  for (const one of others) one!.then(() => came++)
  await turns(3)
  assert.equal(came, 0, 'one of all')
  gate.leave('a')
  await others[0]
  await turns(3)
  assert.equal(came, 1)
})

onBothEngines(
  'bulk writes of an account run one at a time, next to its short ones and those of others',
  async (world) => {
    const { deps } = world
    const other = await world.user('other')
    for (const call of [world.call, other.call])
      assert.equal((await call('POST', '/v10/projects', { name: 'web' })).status, 200)
    const write = deps.db.write
    const running = new Map<string, number>()
    const most = new Map<string, number>()
    let hold = Promise.withResolvers<void>()
    deps.db.write = async (work, owner = '') => {
      running.set(owner, (running.get(owner) ?? 0) + 1)
      most.set(owner, Math.max(most.get(owner) ?? 0, running.get(owner)!))
      await hold.promise
      return write(work, owner).finally(() => {
        if (running.get(owner) === 1) running.delete(owner)
        else running.set(owner, running.get(owner)! - 1)
      })
    }
    const upsert = (call: World['call'], count: number) =>
      call.try(
        'POST',
        '/v10/projects/web/env?upsert=true',
        Array.from({ length: count }, (_, at) => ({
          key: `KEY_${at}`,
          value: 'v',
          type: 'plain',
          target: ['production'],
        })),
      )
    const bulk = Promise.all([...Array.from({ length: 4 }, () => upsert(world.call, 200)), upsert(other.call, 200)])
    await eventually(() => running.size === 2)
    // What was asked before these has come as far as it may.
    for (let at = 0; at < 2; at++) assert.equal((await world.call('GET', '/v9/projects/web')).status, 200)
    hold.resolve()
    assert.deepEqual(
      (await bulk).map(({ status }) => status),
      [201, 201, 201, 201, 201],
    )
    assert.deepEqual([...most.values()], [1, 1])
    hold = Promise.withResolvers()
    const short = Array.from({ length: 4 }, () => upsert(world.call, 1))
    await eventually(() => Math.max(...running.values()) > 1)
    hold.resolve()
    await Promise.all(short)
    deps.db.write = write
  },
)

/** A writer that notes its verbs. */
function openWriter() {
  const said: string[] = []
  let open = false
  const writer: Writer = {
    beforeCommit: () => {},
    afterCommit: () => {},
    exec(sql) {
      if (sql === 'BEGIN IMMEDIATE' || sql === 'COMMIT') said.push(sql)
      open = sql === 'BEGIN IMMEDIATE' || (open && sql !== 'COMMIT' && sql !== 'ROLLBACK')
    },
    inTransaction: () => open,
  }
  return { writer, said }
}

test("writes take turns by account, and a long group is committed before the next one's", async (t) => {
  const busy = openTime(t)
  const { writer, said } = openWriter()
  const write = groupCommit(writer, 256, { onDone: () => {}, onFailed: () => {} })
  const job = (owner: string, ms: number) =>
    write(async () => {
      busy(ms)
      said.push(owner)
    }, owner)
  const all = [...Array.from({ length: 4 }, () => job('flood', 15)), job('other', 1)]
  await Promise.all(all)
  const [jobs, verbs] = [said.filter((word) => !/[A-Z]/.test(word)), said.filter((word) => /[A-Z]/.test(word))]
  assert.deepEqual(jobs, ['flood', 'other', 'flood', 'flood', 'flood'])
  // Two of 15 ms are longer than a group may last.
  assert.ok(verbs.length >= 4, said.join())
})

test('short writes share one commit, up to the limit', async (t) => {
  openTime(t)
  const { writer, said } = openWriter()
  const write = groupCommit(writer, 3, { onDone: () => {}, onFailed: () => {} })
  await Promise.all(Array.from({ length: 4 }, (_, at) => write(async () => void said.push(String(at)), 'a')))
  assert.deepEqual(said, ['BEGIN IMMEDIATE', '0', '1', '2', 'COMMIT', 'BEGIN IMMEDIATE', '3', 'COMMIT'])
})

test('what waits comes in one after another, and where each fills an iteration of the event loop, one in each', async (t) => {
  const busy = openTime(t)
  const gate = createGate({ maxPerOwner: 1000 })
  await nextTurn()
  gate.enter('a')
  busy(10)
  let iteration = 0
  let isOver = false
  const count = async () => {
    for (; !isOver; iteration++) await nextTurn()
  }
  void count()
  const seen: number[] = []
  const enter = () =>
    gate.enter('a')!.then(() => {
      seen.push(iteration)
      busy(10)
    })
  await Promise.all(Array.from({ length: 6 }, enter))
  isOver = true
  assert.equal(new Set(seen).size, 6, `in the iterations ${seen}`)
})

test('how many lists, bulk writes and requests run at once, of one account and of all', async (t) => {
  openTime(t)
  const all = ['a', 'b', 'c', 'd', 'e', 'f', 'g']
  for (const [engine, most] of [
    ['sqlite', { all: 64, lists: 1, ofAll: 2 }],
    ['postgres', { all: 16, lists: 2, ofAll: 6 }],
  ] as const) {
    let hasCapacity = false
    const gates = createGates(engine, () => hasCapacity)
    const enters = async (name: 'all' | 'bulk' | 'bodies' | 'lists', owner: string) => {
      await nextTurn()
      let entered = 0
      const add = () => void entered++
      for (let n = 0; n < 70; n++) {
        const waits = gates[name].enter(owner)
        if (waits === undefined) add()
        else waits.then(add, () => {})
      }
      await turns(80)
      return entered
    }
    const entered = [await enters('all', 'a'), await enters('bulk', 'a'), await enters('bodies', 'a')]
    assert.deepEqual(entered, [most.all, 1, 8], engine)
    assert.equal(await enters('lists', 'none'), 0, 'an account whose answers have not left makes no list')
    hasCapacity = true
    const other = createGates(engine, () => hasCapacity)
    gates.lists = other.lists
    assert.equal(await enters('lists', 'a'), most.lists, engine)
    let sum = most.lists
    for (const owner of all.slice(1)) sum += await enters('lists', owner)
    assert.equal(sum, most.ofAll, engine)
  }
})
