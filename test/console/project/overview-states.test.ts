/** The overview of a project as it is first, live, rolled back, in need of attention, paused and in transfer. docs/console.md: Project pages. */
import assert from 'node:assert/strict'
import { openSignedInClient } from '../../support/clients/browser-client.ts'
import { readPage } from '../../support/clients/page-text.ts'
import { setInTransfer, tamper } from '../../support/states.ts'
import { onBothEngines } from '../../support/world.ts'
import { SETTINGS, seedWebProject } from '../../support/worlds/deploy-world.ts'

const PATH = '/console/t/admin/projects/web'
const VISIT = '[Visit](https://one.apps.example.net)'
const LATEST = ['## Latest deployments']
const MENU = ['[Actions for web]', '[Pause…](/pause)']
const FACTS = ['Framework: None', 'Project ID: PROJECT [Copy]', 'Created: TIME']

const top = (state: string, actions: readonly string[]) => ['# web', state, ...actions]

/** The card of what is live. */
function production(color: string, words: string, name: string, host: string): string[] {
  const hosts = ['one.apps.example.net', host].map((one) => `[${one}](https://${one})`)
  return ['## Production', color, words, `[${host}](/deployments/${name})`, 'TIME', ...hosts, ...FACTS, ...LATEST]
}

onBothEngines(
  'the overview says what is live, what needs attention and what can be done, in each state of a project',
  async (world) => {
    const client = await openSignedInClient(world)
    const web = await seedWebProject(world, ['one'])
    const names = new Map([[web.id, 'PROJECT']])
    const deploy = async (name: string, said: object = {}) => {
      const id = await web.deploy({ url: `${name.toLowerCase()}.host.test`, ...said })
      names.set(id, name)
      return id
    }
    /** Until the heading of the latest deployments, with names instead of ids. */
    const see = async () => {
      const { text } = await client.get(PATH)
      const lines = readPage(text.replaceAll(/(<time[^>]*>)(?:just now|\d+ minutes? ago)/g, '$1TIME'))
      const end = lines.findIndex((line) => /^## (?:Latest|No) deployments/.test(line))
      return lines
        .slice(0, end + 1)
        .map((line) => [...names].reduce((all, [id, name]) => all.replaceAll(id, name), line.replaceAll(PATH, '')))
    }
    assert.deepEqual(await see(), [
      ...top('(idle) Not deployed yet', MENU),
      '## Production',
      'Not deployed yet.',
      ...FACTS,
      '## No deployments yet',
    ])
    await world.call('PATCH', '/v9/projects/web', { autoAssignCustomDomains: false })
    await deploy('EARLY')
    assert.deepEqual(await see(), [
      ...top('(idle) Not deployed yet', MENU),
      ...['## Needs attention', '1'],
      '(warn) The newest production deployment is not live: [early.host.test](/deployments/EARLY). Promote it to put it live.',
      ...['## Production', 'Not deployed yet.', ...FACTS, ...LATEST],
    ])
    await world.call('PATCH', '/v9/projects/web', { autoAssignCustomDomains: true })
    const first = await deploy('FIRST')
    await deploy('SECOND')
    const back = (to: string) => `[Roll back…](/deployments/${to}/rollback) ${VISIT}`
    const two = production('(good)', 'Live now', 'SECOND', 'second.host.test')
    assert.deepEqual(await see(), [...top('(good) Live', [back('FIRST'), ...MENU]), ...two])

    await web.rollback(first)
    await web.sweep()
    const rolled =
      '(warn) Rolled back TIME by you to [first.host.test](/deployments/FIRST). New deployments will not go live until you promote one, or turn on automatic promotion in [Settings](/settings).'
    const undo =
      '[Undo the rollback…](/deployments/SECOND/promote) → /automatic-promotion shown=PROJECT [Resume automatic promotion]'
    const one = [...top('(good) Live', [VISIT, ...MENU]), '## Needs attention', '1']
    const old = production('(good)', 'Live now', 'FIRST', 'first.host.test')
    assert.deepEqual(await see(), [...one, `${rolled} ${undo}`, ...old])
    const third = await deploy('THIRD')
    const waits = '[third.host.test](/deployments/THIRD) is waiting.'
    assert.deepEqual(await see(), [...one, `${rolled} ${waits} ${undo}`, ...old])

    await web.promote(third)
    await web.sweep()
    await world.call('PATCH', '/v9/projects/web', { autoAssignCustomDomains: false })
    await deploy('STAGED')
    await deploy('TRIED', { target: 'preview' })
    const three = production('(good)', 'Live now', 'THIRD', 'third.host.test')
    assert.deepEqual(await see(), [
      ...top('(good) Live', [back('SECOND'), ...MENU]),
      ...['## Needs attention', '1'],
      '(warn) The newest production deployment is not live: [staged.host.test](/deployments/STAGED). Promote it to put it live.',
      ...three,
    ])

    for (let at = 1; at <= 6; at++)
      await world.call('POST', '/v10/projects/web/domains', { name: `d${at}.example.org` })
    await deploy('FAILED', { readyState: 'ERROR' })
    await deploy('PREVIEW', { readyState: 'ERROR', target: 'preview', gitBranch: 'next' })
    const problems = [
      "(bad) The newest production deployment failed: [failed.host.test](/deployments/FAILED). You can't add domains until a deployment succeeds.",
      '(bad) The newest preview deployment of branch next failed: [preview.host.test](/deployments/PREVIEW).',
      ...[6, 5, 4, 3, 2]
        .map((at) => `d${at}.example.org`)
        .map((name) => `(warn) [${name}](/domains/${name}) is not verified and serves nothing yet.`),
    ]
    assert.deepEqual(await see(), [
      // The one before is no longer among the latest, so there is no rollback to it.
      ...top('(good) Live (earlier deployment)', [VISIT, ...MENU]),
      ...['## Needs attention', '7', ...problems],
      ...three,
    ])

    await world.call('POST', `/v1/projects/${web.id}/pause`)
    const paused = [...top('(warn) Paused', [VISIT, '→ /unpause', 'shown=PROJECT [Resume]']), '## Needs attention']
    const by = '(warn) You paused this project TIME. Visitors see a "paused" page.'
    const still = production('(idle)', 'Paused', 'THIRD', 'third.host.test')
    assert.deepEqual(await see(), [...paused, '8', by, ...problems, ...still])
    await setInTransfer(world, web.id, world.deps.clock.now())
    const moving =
      '(busy) This project is being transferred to another account. The transfer started TIME. Most changes are blocked until it completes.'
    assert.deepEqual(await see(), [...paused, '9', by, moving, ...problems, ...still])
    await tamper(world, 'project', { transferred_from_account_id: 'team_x' }, { id: web.id })
    const from = 'Transferred: from another account, TIME'
    assert.deepEqual(await see(), [...paused, '9', by, moving, ...problems, ...still.slice(0, -1), from, ...LATEST])
  },
  SETTINGS,
)
