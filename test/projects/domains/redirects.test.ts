/** Redirects between the domains of a project. */
import assert from 'node:assert/strict'
import { onBothEngines } from '../../support/world.ts'
import { seedDomains } from '../../support/worlds/domain-world.ts'

onBothEngines(
  'redirects go to another domain of the project, never to themselves, elsewhere, or in a circle',
  async (world) => {
    const { call } = world
    await seedDomains(world, ['a.example.com', 'b.example.com', 'c.example.com', '*.d.example.com'])
    await seedDomains(world, ['other.example.org'], 'second')
    const patch = (name: string, body: object) =>
      call.try('PATCH', `/v9/projects/web/domains/${name}.example.com`, body)
    const add = (body: object) => call.try('POST', '/v10/projects/web/domains', { name: 'new.example.com', ...body })
    const bad: [object, string][] = [
      [{ redirect: 'new.example.com' }, 'redirect_to_itself'],
      [{ redirect: 'NEW.example.com.' }, 'redirect_to_itself'],
      [{ redirect: 'other.example.org' }, 'invalid_redirect'],
      [{ redirect: 'nowhere.example.com' }, 'invalid_redirect'],
      [{ redirect: '*.d.example.com' }, 'invalid_redirect'],
      [{ redirect: 'not a name' }, 'invalid_redirect'],
      [{ redirect: 'https://a.example.com' }, 'invalid_redirect'],
      [{ redirect: 'a.example.com', gitBranch: 'next' }, 'branch_and_redirect'],
      [{ redirectStatusCode: 301 }, 'bad_request'],
    ]
    for (const [body, code] of bad) {
      const answer = await add(body)
      assert.equal(answer.status, 400)
      assert.equal(answer.body.error.code, code, JSON.stringify(body))
    }
    assert.equal((await call.try('GET', '/v9/projects/web/domains/new.example.com')).status, 404)

    const first = await patch('a', { redirect: 'B.example.com', redirectStatusCode: 308 })
    assert.equal(first.status, 200)
    assert.equal(first.body.redirect, 'b.example.com')
    assert.equal(first.body.redirectStatusCode, 308)
    assert.equal((await patch('b', { redirect: 'c.example.com' })).status, 200)
    for (const target of ['a', 'b']) {
      const circle = await patch('c', { redirect: `${target}.example.com` })
      assert.equal(circle.status, 400)
      assert.equal(circle.body.error.code, 'invalid_redirect')
      assert.match(circle.body.error.message, /create a loop/)
    }
    assert.equal((await patch('c', { redirect: 'c.example.com' })).body.error.code, 'redirect_to_itself')
    // A branch on a domain that redirects, and a redirect on one with a branch, unless the other is cleared in the same request.
    assert.equal((await patch('a', { gitBranch: 'next' })).body.error.code, 'branch_and_redirect')
    const switched = await patch('a', { gitBranch: 'next', redirect: null })
    assert.equal(switched.status, 200)
    assert.deepEqual(
      [switched.body.gitBranch, switched.body.redirect, switched.body.redirectStatusCode],
      ['next', null, null],
    )
    assert.equal((await patch('a', { redirect: 'b.example.com' })).body.error.code, 'branch_and_redirect')
    assert.equal((await patch('a', { redirect: null, redirectStatusCode: 301 })).body.error.code, 'bad_request')
    // An empty text is as null.
    assert.equal((await patch('a', { gitBranch: '', redirect: 'b.example.com' })).body.gitBranch, null)
    assert.deepEqual((await patch('a', { redirect: '' })).body.redirect, null)
    assert.equal((await patch('b', { redirectStatusCode: 302 })).body.redirectStatusCode, 302)
    assert.equal((await patch('b', { redirectStatusCode: null })).body.redirectStatusCode, 307)
    assert.equal((await patch('b', {})).body.redirect, 'c.example.com')
  },
)

onBothEngines('a chain of redirects has a limit', async (world) => {
  const names = Array.from({ length: 13 }, (_, at) => `d${at}.example.com`)
  await seedDomains(world, names)
  const statuses = []
  for (let at = 1; at < names.length; at++) {
    const patched = await world.call.try('PATCH', `/v9/projects/web/domains/${names[at]}`, { redirect: names[at - 1] })
    statuses.push(patched.status)
  }
  assert.deepEqual(statuses, [...Array(10).fill(200), 400, 200])
})

onBothEngines('of two redirects that would close a circle at once one is refused', async (world) => {
  for (let round = 0; round < 15; round++) {
    const names = [`a${round}.example.com`, `b${round}.example.com`] as const
    await seedDomains(world, [...names], `web${round}`)
    const redirect = (from: string, to: string) =>
      world.call.try('PATCH', `/v9/projects/web${round}/domains/${from}`, { redirect: to })
    const answers = await Promise.all([redirect(names[0], names[1]), redirect(names[1], names[0])])
    assert.deepEqual(answers.map((answer) => answer.status).sort(), [200, 400])
  }
})
