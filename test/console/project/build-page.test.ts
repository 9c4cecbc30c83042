/** The page of a deployment that Berth builds: its log, why it failed, Cancel and Redeploy. docs/console.md: Project pages. */
import assert from 'node:assert/strict'
import { BUILDS, createSource, openRunners, stateOf } from '../../delivery/builds/building.ts'
import { openClient, openSignedInClient } from '../../support/clients/browser-client.ts'
import { readPage } from '../../support/clients/page-text.ts'
import { onBothEngines, type World } from '../../support/world.ts'

const SAID = 'Command "npm run build" exited with 1 <script>'

const pageOf = (id: string) => `/console/t/admin/projects/web/deployments/${id}`

async function open(world: World) {
  const client = await openSignedInClient(world)
  await world.call('POST', '/v10/projects', { name: 'web' })
  const { id } = await createSource(world, { target: 'production' })
  const page = async (of = id) => (await client.get(pageOf(of))).text
  return { client, id, page }
}

onBothEngines(
  'a build shows its lines as they arrive, and finally the reason of a failure, without terminal escapes',
  async (world) => {
    const { id, page } = await open(world)
    assert.match(await page(), /Waiting for the first line\./)
    const runners = await openRunners(world)
    try {
      const build = runners.of(await runners.take())
      await build.log(0, 'installing', '\u001b[31m<b>red</b>\u001b[0m')
      const running = await page()
      assert.deepEqual(readPage(running, 'Build log'), [
        ...['## Build log', 'Search the log=', '[ ] errors: Errors only', '[x] Follow'],
        `[Copy] [Download](${pageOf(id)}/log/export)`,
        '[1](#L1) 00:00:01 installing',
        '[2](#L2) 00:00:01 <b>red</b>',
      ])
      assert.match(running, /data-reload/)
      const more = [
        { type: 'command', date: 62_000, text: '\u001b[1mvercel pull\u001b[0m' },
        { type: 'command', date: 62_000, text: '\u001b[1mvercel build\u001b[0m' },
        ...['one', 'two', 'three', 'Error: four', 'five'].map((text) => ({ type: 'stderr', date: 62_000, text })),
      ]
      await build.post('log', { first: 2, lines: more })
      await build.fail('BUILD_FAILED', SAID)
    } finally {
      await runners.close()
    }
    const failed = await page()
    assert.deepEqual(readPage(failed, 'Build failed'), [
      '(bad)',
      '## Build failed',
      SAID,
      'Last step: vercel build',
      ...['vercel build', 'one', 'two', 'three', 'Error: four', 'five'],
      '[Copy]',
      '[Go to line 10](#L10) BUILD_FAILED · What was live stays live.',
    ])
    // The last line has the time of the failure.
    const lines = readPage(failed, 'Build log').map((line) => line.replace(/(?<=#L10\) )\S+/, 'TIME'))
    assert.deepEqual(lines, [
      ...['## Build log', 'Search the log=', '[ ] errors: Errors only (bad) 2'],
      `[Copy] [Download](${pageOf(id)}/log/export)`,
      '[1](#L1) 00:00:01 installing',
      '[2](#L2) 00:00:01 <b>red</b>',
      '(step) [3](#L3) 00:01:02 vercel pull',
      '(step) [4](#L4) 00:01:02 vercel build',
      ...['one', 'two', 'three'].map((text, at) => `[${at + 5}](#L${at + 5}) 00:01:02 ${text}`),
      '(error) [8](#L8) 00:01:02 Error: four',
      '[9](#L9) 00:01:02 five',
      `(error) [10](#L10) TIME Error: ${SAID} (BUILD_FAILED)`,
    ])
    assert.doesNotMatch(failed, /data-reload|\u001b/)
    assert.equal((await stateOf(world, id)).readyState, 'ERROR')
  },
  BUILDS,
)

onBothEngines(
  'the last lines of a failed build are all seen: none is too long, and their box does not scroll',
  async (world) => {
    const { page } = await open(world)
    const runners = await openRunners(world)
    try {
      const build = runners.of(await runners.take())
      await build.log(0, ...['a', 'b', 'c'].map((letter) => letter.repeat(5000)), 'the reason')
      await build.fail('BUILD_FAILED', 'It failed')
    } finally {
      await runners.close()
    }
    const failed = await page()
    const [, excerpt] = /<section class="note bad failure"[\s\S]*?<pre>([\s\S]*?)<\/pre>/.exec(failed)!
    const cut = ['a', 'b', 'c'].map((letter) => `${letter.repeat(300)}…\n`)
    assert.equal(excerpt, [...cut, 'the reason\n'].join(''))
    assert.ok(failed.includes('a'.repeat(5000)), 'the log has the whole line')
    const { text: css } = await openClient(world).get(/href="([^"]+\.css[^"]*)"/.exec(failed)![1]!)
    for (const [rule] of css.matchAll(/[^{}]*\.failure[^{}]*\{[^}]*\}/g))
      assert.doesNotMatch(rule, /overflow|block-size/)
  },
  BUILDS,
)

/** The clock goes on while a busy machine works. */
const TIME = '20 s, and what the test itself takes'

onBothEngines(
  'the page of a build says how long it waited and how long it ran',
  async (world) => {
    const { id, page } = await open(world)
    const { clock } = world.deps
    const pass = (ms: number) => clock.set(clock.now() + ms)
    const times = async () =>
      [...(await page()).matchAll(/<dt>(In the queue|Build)<\/dt><dd>([^<]*)<\/dd>/g)].map(([, what, time]) => [
        what,
        time?.replace(/^[2-5]\d s$/, TIME),
      ])
    const runners = await openRunners(world)
    try {
      assert.deepEqual(await times(), [])
      pass(20_000)
      const build = runners.of(await runners.take())
      assert.deepEqual(await times(), [['In the queue', TIME]])
      pass(20_000)
      await build.fail('BUILD_FAILED', 'it failed')
    } finally {
      await runners.close()
    }
    assert.deepEqual(await times(), [
      ['In the queue', TIME],
      ['Build', TIME],
    ])
    assert.equal((await stateOf(world, id)).readyState, 'ERROR')
  },
  BUILDS,
)

const ERRORS = [
  '\u001b[31m\u001b[1merror\u001b[22m\u001b[39m: no such module',
  'npm ERR! code ERESOLVE',
  'npm error code ERESOLVE',
  ' ERR_PNPM_OUTDATED_LOCKFILE  Cannot install',
  'TypeError: x is not a function',
  'src/a.ts(1,2): error TS2322: not assignable',
  '✘ [ERROR] Could not resolve "x"',
  'Failed to compile.',
  ' ELIFECYCLE  Command failed with exit code 1.',
  'Error: Command "npm run build" exited with 1',
]
const NO_ERRORS = [
  'error.js  1.2 kB',
  '├ ○ /_error   1.2 kB',
  '0 errors, 0 warnings',
  'Checking for errors',
  'noerror.html',
]

onBothEngines(
  'of the output of a build, lines that are errors are shown as such',
  async (world) => {
    const { page } = await open(world)
    const runners = await openRunners(world)
    try {
      await runners.of(await runners.take()).log(0, ...ERRORS, ...NO_ERRORS)
    } finally {
      await runners.close()
    }
    const text = await page()
    assert.match(text, /<ol start="1">/)
    assert.doesNotMatch(text, /newest lines/, 'all of them are shown')
    const looks = [...text.matchAll(/<li id="L\d+"( class="error")?>/g)].map(([, look]) => look !== undefined)
    assert.deepEqual(looks, [...ERRORS.map(() => true), ...NO_ERRORS.map(() => false)])
    assert.match(text, new RegExp(`Errors only <span class="badge bad">${ERRORS.length}<`))
  },
  BUILDS,
)

onBothEngines(
  'the page of a build has its newest lines, of 100,000 characters at most',
  async (world) => {
    const { page } = await open(world)
    const runners = await openRunners(world)
    try {
      const build = runners.of(await runners.take())
      await build.log(0, ...Array.from({ length: 40 }, (_, at) => `${at}.${'x'.repeat(16_000)}`))
    } finally {
      await runners.close()
    }
    const text = await page()
    assert.ok(text.length < 200 * 1024, String(text.length))
    assert.deepEqual(
      [...text.matchAll(/<span>(\d+)\.x/g)].map(([, at]) => at),
      ['34', '35', '36', '37', '38', '39'],
    )
    assert.match(text, /The 6 newest lines\. <a href="[^"]*\/log\/export"[\s\S]*<ol start="35">/)
  },
  BUILDS,
)

onBothEngines(
  'Cancel ends a build; Redeploy builds its source again, once for two clicks',
  async (world) => {
    const { client, id, page } = await open(world)
    assert.match(await page(), new RegExp(`action="${pageOf(id)}/cancel"`))
    assert.doesNotMatch(await page(), new RegExp(`action="${pageOf(id)}/redeploy"`))
    assert.equal((await client.post(`${pageOf(id)}/cancel`, {})).status, 303)
    assert.equal((await stateOf(world, id)).readyState, 'CANCELED')
    assert.match(await page(), new RegExp(`href="${pageOf(id)}/redeploy"[^>]*>.*Redeploy…`))
    const again = await client.post(`${pageOf(id)}/cancel`, {})
    assert.equal(again.status, 409)
    assert.match(again.text, /role="alert"/)
    const presses = await Promise.all([1, 2].map(() => client.post(`${pageOf(id)}/redeploy`, { once: 'shown-once' })))
    assert.deepEqual(new Set(presses.map(({ status }) => status)), new Set([303]))
    const [built, ...others] = new Set(presses.map(({ location }) => /dpl_\w+/.exec(location)![0]))
    assert.deepEqual(others, [])
    assert.notEqual(built, id)
    assert.equal((await stateOf(world, built!)).readyState, 'QUEUED')
    assert.match(await page(built), /Waiting for the first line\./)
  },
  BUILDS,
)

/** The hidden fields of the question whether to redeploy, but for those of every form. */
function askedIn(text: string): Record<string, string> {
  const [form = ''] = /<form class="card sheet[\s\S]*?<\/form>/.exec(text) ?? []
  const fields = [...form.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)]
  return Object.fromEntries(fields.map(([, name, value]) => [name, value]).filter(([name]) => name !== 'form'))
}

onBothEngines(
  'a redeploy of production asks first, and makes a production deployment; that of a preview is a preview',
  async (world) => {
    const { client, id } = await open(world)
    const { id: preview } = await createSource(world, {})
    await client.get(pageOf(id))
    for (const one of [id, preview]) assert.equal((await client.post(`${pageOf(one)}/cancel`, {})).status, 303)
    const asked = (await client.get(`${pageOf(id)}/redeploy`)).text
    assert.match(asked, /<h1>Redeploy to production\?<\/h1>[\s\S]*It goes live as soon as it is ready\./)
    await world.call('PATCH', '/v9/projects/web', { autoAssignCustomDomains: false })
    assert.match((await client.get(`${pageOf(id)}/redeploy`)).text, /It does not go live until you promote it\./)
    assert.match(
      (await client.get(`${pageOf(preview)}/redeploy`)).text,
      /<h1>Redeploy\?<\/h1>[\s\S]*Production stays as it is\./,
    )
    for (const [one, target] of [
      [id, 'production'],
      [preview, null],
    ] as const) {
      const { text } = await client.get(`${pageOf(one)}/redeploy`)
      const { location } = await client.post(`${pageOf(one)}/redeploy`, askedIn(text))
      const [made] = /dpl_\w+/.exec(location) ?? assert.fail(location)
      assert.equal((await world.call('GET', `/v13/deployments/${made}`)).body.target ?? null, target)
    }
  },
  BUILDS,
)
