/** Operations 1 to 5 and 8, as the specification and decisions.md say them. */
import assert from 'node:assert/strict'
import { onBothEngines } from './world.ts'

onBothEngines('a created project is answered whole and can be read by id and by name', async ({ call }) => {
  const made = await call('POST', '/v10/projects', { name: 'web', framework: 'nextjs', buildCommand: 'make' })
  assert.equal(made.status, 200)
  assert.match(made.body.id, /^prj_[0-9A-Za-z]{28}$/)
  assert.equal(made.body.framework, 'nextjs')
  assert.equal(made.body.nodeVersion, '20.x')
  assert.equal('paused' in made.body, false)
  for (const said of [made.body.id, 'web']) {
    assert.deepEqual((await call('GET', `/v9/projects/${said}`)).body, made.body)
  }
})

onBothEngines('of 20 simultaneous creates of one name one wins and nineteen are told 409', async ({ call }) => {
  const answers = await Promise.all(Array.from({ length: 20 }, () => call('POST', '/v10/projects', { name: 'web' })))
  assert.deepEqual(answers.map((answer) => answer.status).sort(), [200, ...Array(19).fill(409)])
  assert.equal((await call('GET', '/v9/projects')).body.projects.length, 1)
  const refused = answers.find((answer) => answer.status === 409)
  assert.deepEqual(refused?.body, { error: { code: 'conflict', message: 'A project named "web" already exists.' } })
})

onBothEngines(
  '500 projects of one millisecond page to the end once each, with a falling cursor',
  async ({ call, deps }) => {
    const frozen = deps.clock.now()
    deps.clock.now = () => frozen
    await Promise.all(Array.from({ length: 500 }, (_, at) => call('POST', '/v10/projects', { name: `p${at}` })))
    const seen: string[] = []
    let until: number | null = null
    do {
      const query: string = until === null ? '' : `&until=${until}`
      const { body } = await call('GET', `/v9/projects?limit=37${query}`)
      seen.push(...body.projects.map((project: { name: string }) => project.name))
      if (until !== null && body.pagination.next !== null) assert.ok(body.pagination.next < until)
      until = body.pagination.next
    } while (until !== null)
    assert.equal(seen.length, 500)
    assert.equal(new Set(seen).size, 500)
  },
)
