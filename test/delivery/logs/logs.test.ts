/** Log lines of functions are kept within a budget, and read in the forms of clients. docs/functions.md: Log. */
import assert from 'node:assert/strict'
import { LOG_BUDGET } from '../../../src/delivery/logs/store-lines.ts'
import { runTimer } from '../../../src/timers.ts'
import { tamper } from '../../support/states.ts'
import { onBothEngines, type World } from '../../support/world.ts'
import { seedWebProject } from '../../support/worlds/deploy-world.ts'
import { openInstance, SETTINGS, SITES_TOKEN } from '../../support/worlds/sites-world.ts'

type Said = { text?: string; level?: string; at?: number; id?: string; status?: number; path?: string }

async function openLogs(world: World) {
  const { origin, close } = await openInstance(world)
  let sequence = 0
  const line = (
    deploymentId: string,
    { text = '', level = 'info', at = 0, id = '', status = 200, path = '/api' }: Said,
  ) => ({
    ...{ deploymentId, date: world.deps.clock.now() + at, level, text, requestId: id },
    ...{ method: 'GET', host: 'web.example', path, status },
  })
  const send = async (body: object | string, token = SITES_TOKEN) => {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    const headers = { authorization: `Bearer ${token}` }
    const answer = await fetch(`${origin}/sites/v1/logs`, { method: 'POST', headers, body: text })
    return { status: answer.status, text: await answer.text() }
  }
  const report = (lines: object[]) => ({ server: 'serverserver0001', sequence: ++sequence, lines })
  const write = async (id: string, ...said: Said[]) => {
    const answer = await send(report(said.map((one) => line(id, one))))
    assert.equal(answer.status, 200, answer.text)
  }
  return { send, line, report, write, close }
}

async function textsOf(world: World, project: string, id: string, query = ''): Promise<string[]> {
  const path = `/v1/projects/${project}/deployments/${id}/runtime-logs` as const
  const { text, headers } = await world.call('GET', path + query)
  assert.match(String(headers['content-type']), /^application\/stream\+json/)
  const lines = text
    .trimEnd()
    .split('\n')
    .map((json: string) => JSON.parse(json))
  return lines.map(({ source, message }: { source: string; message: string }) =>
    source === 'delimiter' ? '-' : message,
  )
}

type LogEvent = Partial<Record<string, string | number>>

function eventsOf({ body }: { body: { events: object[] } }): LogEvent[] {
  return body.events as LogEvent[]
}

const piecesOf = ({ deps }: World) => deps.db.read.selectFrom('runtime_log').selectAll().orderBy('id').execute()

onBothEngines(
  'lines are stored once each, and read by level, status, text, time and number until the stream ends',
  async (world) => {
    const web = await seedWebProject(world)
    const [id, other] = [await web.deploy(), await web.deploy()]
    const { send, line, report, write, close } = await openLogs(world)
    assert.deepEqual(await textsOf(world, web.id, id), ['-'])
    const first = report([line(id, { text: 'one', at: -9000, id: 'a' }), line(other, { text: 'theirs' })])
    for (let again = 0; again < 2; again++) assert.equal((await send(first)).status, 200)
    await write(id, { text: 'two', level: 'error', status: 500, at: -5000 }, { status: 404, path: '/absent' })
    await write('dpl_unknown', { text: 'of nobody' })
    assert.deepEqual(await textsOf(world, web.id, id), ['one', 'two', ''])
    assert.deepEqual(await textsOf(world, 'web', id, '?format=lines&level=error,warning'), ['two'])
    assert.deepEqual(await textsOf(world, web.id, id, '?statusCode=5xx'), ['two'])
    assert.deepEqual(await textsOf(world, web.id, id, '?statusCode=404'), [''])
    assert.deepEqual(await textsOf(world, web.id, id, '?search=ONE'), ['one'])
    const long = `/v1/projects/${web.id}/deployments/${id}/runtime-logs?search=${'x'.repeat(251)}`
    assert.equal((await world.call.try('GET', long)).status, 400)
    assert.deepEqual(await textsOf(world, web.id, id, '?limit=1'), [''])
    assert.deepEqual(await textsOf(world, web.id, id, `?until=${world.deps.clock.now() - 4000}&limit=1`), ['two'])
    assert.deepEqual(await textsOf(world, web.id, id, `?since=${world.deps.clock.now() - 6000}`), ['two', ''])
    assert.equal((await piecesOf(world)).length, 2, 'lines of a deployment share a piece')
    await close()
  },
  SETTINGS,
)

onBothEngines(
  'only an operator can list lines and requests with the command line, by page and with a filter',
  async (world) => {
    const web = await seedWebProject(world)
    const id = await web.deploy({ target: 'production' })
    const { write, close } = await openLogs(world)
    await write(
      id,
      { text: 'one', at: -3000, id: 'a' },
      { text: 'two', level: 'error', at: -2000, id: 'a', status: 500 },
    )
    await write(id, { at: -1000, id: 'b', path: '/b' })
    const [start, end] = [-60_000, 60_000].map((ms) => new Date(world.deps.clock.now() + ms!).toISOString())
    const ask = (said: object, call = world.call) =>
      call.try('POST', '/v1/observability/events', {
        ...{ event: 'vercel.log', scope: { projectIds: [web.id] }, timeRange: { start, end }, order: 'desc', ...said },
      })
    const messages = async (said: object) => eventsOf(await ask(said)).map((one) => one.message)
    assert.deepEqual(await messages({}), ['two', 'one'])
    assert.deepEqual(await messages({ filter: 'NOT level:error AND environment:production' }), ['one'])
    const page = (await ask({ limit: 1, select: ['message'] })).body
    assert.deepEqual(
      (page.events as LogEvent[]).map(({ timestamp: _, ...rest }) => rest),
      [{ message: 'two' }],
    )
    assert.equal(page.pagination.hasMore, true)
    const next = (await ask({ limit: 1, cursor: page.pagination.nextCursor })).body
    assert.deepEqual(
      [next.events.length, (next.events as LogEvent[])[0]!.message, next.pagination.hasMore],
      [1, 'one', false],
    )
    const requests = eventsOf(
      await ask({ event: 'vercel.proxy_response', filter: '(NOT pathType:"background_func") AND httpStatus >= 200' }),
    )
    assert.deepEqual(
      requests.map((one) => [one.requestPath, one.httpStatus]),
      [
        ['/b', 200],
        ['/api', 500],
      ],
    )
    const refused = await ask({ filter: 'color:red' })
    assert.deepEqual([refused.status, refused.body.error.code], [400, 'bad_request'])
    const { rows } = (await world.call('GET', `/api/logs/request-logs?projectId=${web.id}&deploymentId=${id}`)).body
    assert.deepEqual(
      rows.map(({ requestId, statusCode, logs }: { requestId: string; statusCode: number; logs: object[] }) => [
        requestId,
        statusCode,
        logs.length,
      ]),
      [
        ['b', 200, 0],
        ['a', 500, 2],
      ],
    )
    const stranger = await world.user('other')
    assert.equal((await ask({}, stranger.call)).status, 404)
    assert.equal((await stranger.call.try('GET', `/api/logs/request-logs?projectId=${web.id}`)).status, 404)
    const audit = world.deps.db.read.selectFrom('audit').select('type').where('type', '=', 'listLogEvents')
    assert.deepEqual(await audit.execute(), [], 'reading leaves no entry')
    await close()
  },
  SETTINGS,
)

onBothEngines(
  'lines of a custom environment are found by its slug',
  async (world) => {
    const web = await seedWebProject(world)
    const made = await world.call('POST', '/v9/projects/web/custom-environments', { slug: 'staging' })
    const staged = await web.deploy({ target: 'preview', customEnvironmentId: made.body.id })
    const { write, close } = await openLogs(world)
    await write(await web.deploy({ target: 'preview' }), { text: 'of a preview', id: 'a' })
    await write(staged, { text: 'staged', id: 'b' })
    const [start, end] = [-60_000, 60_000].map((ms) => new Date(world.deps.clock.now() + ms!).toISOString())
    const asked = { event: 'vercel.log' as const, scope: { projectIds: [web.id] }, timeRange: { start, end } }
    const answer = await world.call('POST', '/v1/observability/events', { ...asked, filter: 'environment:staging' })
    assert.deepEqual(
      eventsOf(answer).map(({ message, environment }) => [message, environment]),
      [['staged', 'staging']],
    )
    await close()
  },
  SETTINGS,
)

onBothEngines(
  'an account keeps its newest lines up to the budget, for 3 days, and those of removed deployments go',
  async (world) => {
    const web = await seedWebProject(world)
    const [id, other] = [await web.deploy(), await web.deploy()]
    const { write, close } = await openLogs(world)
    const large = { text: 'x'.repeat(16_000) }
    await write(id, ...Array<Said>(4).fill(large))
    await write(id, ...Array<Said>(4).fill(large))
    await write(id, ...Array<Said>(4).fill(large))
    const pieces = await piecesOf(world)
    assert.ok(pieces.length === 2 && pieces.every(({ bytes }) => Number(bytes) <= LOG_BUDGET.pieceBytes), 'bounded')
    const { deps } = world
    await tamper(world, 'runtime_log', { bytes: LOG_BUDGET.bytes })
    await write(other, { text: 'newest' })
    assert.deepEqual(await textsOf(world, web.id, id), ['-'], 'the oldest make room')
    assert.deepEqual(await textsOf(world, web.id, other), ['newest'])
    deps.clock.set(deps.clock.now() + LOG_BUDGET.retentionMs + 3_600_000)
    await write(id, { text: 'today' })
    await runTimer(deps, 'old-logs', deps.clock.now())
    assert.deepEqual(
      (await piecesOf(world)).map(({ deployment_id }) => deployment_id),
      [id],
    )
    await world.call('DELETE', `/v13/deployments/${id}`)
    assert.deepEqual(await piecesOf(world), [])
    await close()
  },
  SETTINGS,
)

onBothEngines(
  'an invalid report is refused with a message, and so is a wrong token',
  async (world) => {
    const web = await seedWebProject(world)
    const id = await web.deploy()
    const { send, line, report, close } = await openLogs(world)
    const good = report([line(id, { text: 'one' })])
    const wrong = ['{', '[]', { ...good, server: 'x' }, { ...good, lines: [] }, report([line(id, { level: 'loud' })])]
    for (const body of [...wrong, report([{ ...line(id, {}), text: 'x'.repeat(16_385) }])])
      assert.equal((await send(body)).status, 400)
    assert.equal((await send(good, 'another')).status, 401)
    assert.equal((await send('x'.repeat(3 * 1024 * 1024))).status, 413)
    assert.deepEqual(await piecesOf(world), [])
    await close()
  },
  SETTINGS,
)
