/** Deployments in the search of an account. docs/console.md: Search. */
import assert from 'node:assert/strict'
import { openSignedInClient } from '../../support/clients/browser-client.ts'
import { seedDeployment, seedProject } from '../../support/projects.ts'
import { onBothEngines, type World } from '../../support/world.ts'

const SHA = 'c0ffee1234567890c0ffee1234567890c0ffee12'

async function open(world: World) {
  const web = await seedProject(world, 'web')
  const commit = {
    githubCommitSha: SHA,
    githubCommitMessage: 'Add the wish list\n\nand more',
    githubCommitRepo: 'harbor',
  }
  const wish = await seedDeployment(world, web, {
    url: 'web-wish.example.net',
    gitBranch: 'feature/wish',
    meta: commit,
  })
  const plain = await seedDeployment(world, web, { url: 'web-plain.example.net' })
  const rival = await world.user('rival')
  const body = { url: 'web-rival.example.net', readyState: 'READY' }
  const { body: other } = await rival.call('POST', '/v10/projects', { name: 'other' })
  await world.operator('POST', `/operator/v1/projects/${other.id}/deployments`, body)
  const find = async (q: string, call = world.call) => {
    const { results } = (await call('GET', `/v1/search?${new URLSearchParams({ q })}` as '/v1/search')).body
    return results.filter(({ kind }) => kind === 'deployment')
  }
  return { web, wish, plain, rival, find }
}

onBothEngines(
  'a deployment is found by id, host name, branch, message and SHA, by its account alone',
  async (world) => {
    const { web, wish, plain, rival, find } = await open(world)
    const found = {
      kind: 'deployment',
      name: 'web-wish.example.net',
      id: wish,
      title: 'Add the wish list',
      commitSha: SHA,
      project: { id: web, name: 'web' },
    }
    for (const q of [wish, 'web-wish.example.net', 'FEATURE/wish', 'the wish LIST', SHA, SHA.slice(0, 7).toUpperCase()])
      assert.deepEqual(await find(q), [found], q)
    assert.deepEqual(
      (await find('example.net')).map(({ id }) => id),
      [plain, wish],
      'the newest first',
    )
    for (const q of ['harbor', 'githubCommitSha', SHA.slice(2, 12), wish.slice(0, -1), 'c0f'])
      assert.deepEqual(await find(q), [], `${q} is not what a deployment is known by`)
    assert.deepEqual(await find('wish', rival.call), [])
  },
)

onBothEngines('the console links a deployment that it found', async (world) => {
  const { wish: id } = await open(world)
  const client = await openSignedInClient(world)
  const page = await client.get(`/console/search?q=${SHA.slice(0, 8)}&in=admin`)
  assert.match(
    page.text,
    new RegExp(
      `<a href="/console/t/admin/projects/web/deployments/${id}">Add the \\w+ list</a> <span class="soft small">c0ffee1 · web-\\w+\\.example\\.net · in web<`,
    ),
  )
})
