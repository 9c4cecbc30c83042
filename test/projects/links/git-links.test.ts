/** Links to repositories, against stand-ins that speak as GitLab and Bitbucket do. docs/spec/decisions.md: Projects; docs/git-links.md. */
import assert from 'node:assert/strict'
import { after } from 'node:test'
import { sql } from 'kysely'
import { startBitbucket, startGitlab } from '../../support/servers/git-servers.ts'
import { tamper } from '../../support/states.ts'
import { type ApiResponse, onBothEngines, type World } from '../../support/world.ts'

const TOKEN = 'glpat-hunter2-hunter2'
const namespace = { id: 7, name: 'Acme', path: 'acme', kind: 'group', full_path: 'acme/team' }
const gitlab = await startGitlab(TOKEN, {
  'acme/team/web': {
    ...{ id: 4711, name: 'Web', name_with_namespace: 'Acme / Team / Web', path_with_namespace: 'acme/team/web' },
    ...{ namespace, web_url: 'https://gitlab.example/acme/team/web', default_branch: 'trunk' },
  },
})
const bitbucket = await startBitbucket(`Basic ${Buffer.from(`bob:${TOKEN}`).toString('base64')}`, {
  'acme/web': {
    ...{ type: 'repository', full_name: 'acme/web', name: 'Web', slug: 'web', uuid: '{repo-uuid}' },
    ...{ workspace: { slug: 'acme', uuid: '{workspace-uuid}' }, mainbranch: { type: 'branch', name: 'main' } },
    links: { html: { href: 'https://bitbucket.example/acme/web' } },
  },
})
after(() => Promise.all([gitlab.close(), bitbucket.close()]))
const SERVERS = { gitlab, bitbucket }
const REPOS = { gitlab: 'acme/team/web', bitbucket: 'acme/web' }
const WEBHOOK = { webhookUrl: 'https://build.example.com/push', webhookSecret: 'shared-secret' }
type Provider = keyof typeof SERVERS

/** Sets the credentials of the first user's personal account and gives their ids. */
async function withCredentials(world: World): Promise<Record<Provider, string>> {
  for (const server of [gitlab, bitbucket]) {
    server.hooks.length = 0
    server.asked.length = 0
    server.trouble = undefined
  }
  const ids = { gitlab: '', bitbucket: '' }
  for (const provider of ['gitlab', 'bitbucket'] as const) {
    const user = provider === 'bitbucket' ? { username: 'bob' } : {}
    const body = { token: TOKEN, baseUrl: `${SERVERS[provider].url}/`, ...user, ...WEBHOOK }
    const path = `/operator/v1/accounts/${world.credentials.userId}/git-credentials/${provider}` as const
    const set = await world.operator('PUT', path, body)
    assert.equal(set.status, 200, set.text)
    assert.equal(set.text.includes('hunter2') || set.text.includes('shared-secret'), false)
    ids[provider] = set.body.id
  }
  return ids
}

function refused(answer: ApiResponse, status: number, code: string): void {
  assert.deepEqual([answer.status, answer.body?.error.code], [status, code], answer.text)
}

const create = (world: World, name: string, type: string, repo: string, more: object = {}) =>
  world.call.try('POST', '/v10/projects', { name, gitRepository: { type, repo }, ...more })

onBothEngines('a GitHub repository is linked without a call, with numbers that stay the same', async (world) => {
  const made = await create(world, 'web', 'github', 'Acme/Web')
  assert.equal(made.status, 200, made.text)
  const { link } = made.body
  assert.deepEqual(link, {
    ...{ type: 'github', org: 'Acme', repo: 'Web', repoId: link.repoId, repoOwnerId: link.repoOwnerId },
    ...{ createdAt: made.body.createdAt, updatedAt: made.body.createdAt, gitCredentialId: '' },
    ...{ productionBranch: 'main', sourceless: false, deployHooks: [] },
  })
  assert.ok(Number.isSafeInteger(link.repoId) && link.repoId > 0)
  const [again, other] = [await create(world, 'b', 'github', 'acme/web'), await create(world, 'c', 'github', 'acme/x')]
  assert.deepEqual([again.body.link.repoId, again.body.link.repoOwnerId], [link.repoId, link.repoOwnerId])
  assert.notEqual(other.body.link.repoId, link.repoId)
  await world.call('POST', '/v10/projects', { name: 'bare', gitRepository: null })

  const names = async (query: string) =>
    (await world.call('GET', `/v9/projects?${query}`)).body.projects.map(({ name }: { name: string }) => name).sort()
  assert.deepEqual(await names('repo=acme/web'), ['b', 'web'])
  assert.deepEqual(await names(`repoId=${link.repoId}`), ['b', 'web'])
  assert.deepEqual(await names('repoUrl=https://github.com/acme/x'), ['c'])
  assert.deepEqual(await names('excludeRepos=1'), ['bare'])
})

onBothEngines('the name of a repository has at most 500 characters, and at GitLab 20 parts', async (world) => {
  const parts = (count: number) => Array.from({ length: count }, (_, at) => `g${at}`).join('/')
  const longest = `${'a'.repeat(250)}/${'b'.repeat(249)}`
  assert.equal((await create(world, 'long', 'github', longest)).status, 200)
  refused(await create(world, 'longer', 'github', `${longest}b`), 400, 'bad_request')
  refused(await create(world, 'deep', 'gitlab', parts(20)), 400, 'gitlab_webhook_failed')
  refused(await create(world, 'deeper', 'gitlab', parts(21)), 400, 'bad_request')
})

onBothEngines('GitLab: the webhook uses the account’s credential, and is deleted with the link', async (world) => {
  const ids = await withCredentials(world)
  const made = await create(world, 'web', 'gitlab', REPOS.gitlab)
  assert.equal(made.status, 200, made.text)
  assert.deepEqual(made.body.link, {
    ...{ type: 'gitlab', projectId: '4711', projectName: 'Web', projectNameWithNamespace: 'Acme / Team / Web' },
    ...{ projectNamespace: 'acme/team', projectOwnerId: 7, projectUrl: 'https://gitlab.example/acme/team/web' },
    ...{ createdAt: made.body.createdAt, updatedAt: made.body.createdAt, gitCredentialId: ids.gitlab },
    ...{ productionBranch: 'trunk', sourceless: false, deployHooks: [] },
  })
  const [hook] = gitlab.hooks
  assert.deepEqual([hook!.body.url, hook!.body.token, hook!.body.push_events], [...Object.values(WEBHOOK), true])
  assert.deepEqual((await world.call('GET', '/v9/projects?repoId=4711')).body.projects[0].link, made.body.link)

  const unlinked = await world.call('DELETE', '/v9/projects/web/link')
  assert.deepEqual([unlinked.status, 'link' in unlinked.body], [200, false])
  assert.deepEqual(gitlab.hooks, [])
  assert.equal(
    (await world.call('DELETE', '/v9/projects/web/link')).status,
    200,
    'removing a missing link is not an error',
  )
  const relinked = await world.call('POST', '/v9/projects/web/link', { type: 'gitlab', repo: REPOS.gitlab })
  assert.deepEqual([relinked.body.link.projectId, gitlab.hooks.length], ['4711', 1])
  assert.equal((await world.call('DELETE', '/v9/projects/web')).status, 204)
  assert.deepEqual(gitlab.hooks, [], 'a project takes its webhook with it')
})

onBothEngines('Bitbucket: the same, with a user name and an app password', async (world) => {
  const ids = await withCredentials(world)
  await world.call('POST', '/v10/projects', { name: 'web' })
  const linked = await world.call('POST', '/v9/projects/web/link', { type: 'bitbucket', repo: REPOS.bitbucket })
  assert.equal(linked.status, 200, linked.text)
  const { createdAt, updatedAt, ...link } = linked.body.link
  assert.ok(createdAt > 0 && createdAt === updatedAt)
  assert.deepEqual(link, {
    ...{ type: 'bitbucket', name: 'Web', slug: 'web', owner: 'acme', uuid: '{repo-uuid}' },
    ...{ workspaceUuid: '{workspace-uuid}', gitCredentialId: ids.bitbucket },
    ...{ productionBranch: 'main', sourceless: false, deployHooks: [] },
  })
  const { url, secret, active, events } = bitbucket.hooks[0]!.body
  assert.deepEqual([url, secret, active], [...Object.values(WEBHOOK), true])
  assert.ok((events as string[]).includes('repo:push'))
  await world.call('DELETE', '/v9/projects/web/link')
  assert.deepEqual(bitbucket.hooks, [])
})

onBothEngines('without a credential, or when the provider refuses, a create returns 400', async (world) => {
  await withCredentials(world)
  const team = `teamId=${world.credentials.teamId}`
  for (const provider of ['gitlab', 'bitbucket'] as const) {
    const body = { name: 'web', gitRepository: { type: provider, repo: REPOS[provider] } }
    refused(await world.call.try('POST', `/v10/projects?${team}`, body), 400, `${provider}_webhook_failed`)
    assert.equal((await world.call('GET', `/v9/projects?${team}`)).body.projects.length, 0)
    refused(await create(world, 'web', provider, 'acme/unknown'), 400, `${provider}_webhook_failed`)
    for (const trouble of ['garbage', 'flood', 'redirect', 'forbid-hooks', 'odd', 'drop', 'hang'] as const) {
      // Both wait as long as that takes: one shows it.
      if (trouble === 'hang' && provider === 'bitbucket') continue
      SERVERS[provider].trouble = trouble
      const asked = SERVERS[provider].asked.length
      const answer = await create(world, 'web', provider, REPOS[provider])
      refused(answer, 400, `${provider}_webhook_failed`)
      assert.equal(answer.text.includes('hunter2'), false)
      if (trouble === 'redirect') assert.equal(SERVERS[provider].asked.length, asked + 1, 'a redirect is not followed')
    }
    SERVERS[provider].trouble = undefined
  }
  assert.equal((await world.call('GET', '/v9/projects')).body.projects.length, 0)
  assert.deepEqual([gitlab.hooks, bitbucket.hooks], [[], []])
})

onBothEngines('a wrong token, and one that was removed, make no link', async (world) => {
  await withCredentials(world)
  const path = `/operator/v1/accounts/${world.credentials.userId}/git-credentials/gitlab` as const
  const wrong = await world.operator('PUT', path, { token: 'wrong', baseUrl: gitlab.url, ...WEBHOOK })
  assert.equal(wrong.status, 200)
  refused(await create(world, 'web', 'gitlab', REPOS.gitlab), 400, 'gitlab_webhook_failed')
  assert.equal((await world.operator('DELETE', path)).status, 204)
  assert.equal((await world.operator.try('DELETE', path)).status, 404)
  refused(await create(world, 'web', 'gitlab', REPOS.gitlab), 400, 'gitlab_webhook_failed')
  const nowhere = path.replace('gitlab', 'github')
  assert.equal((await world.operator.try('PUT', nowhere, { token: 't', ...WEBHOOK })).status, 404)
  assert.equal((await world.operator.try('PUT', path, { token: 't', webhookUrl: 'ftp://x' })).status, 400)
})

onBothEngines('a create that is refused after all takes its webhook back', async (world) => {
  await withCredentials(world)
  const bad = { environmentVariables: [{ key: 'NOT A KEY', value: 'v', target: 'preview' }] }
  refused(await create(world, 'web', 'gitlab', REPOS.gitlab, bad), 400, 'KEY_INVALID_CHARACTERS')
  assert.ok(gitlab.asked.some((asked) => asked.startsWith('POST')))
  assert.deepEqual(gitlab.hooks, [])
  // Refused before the provider is asked.
  gitlab.asked.length = 0
  await world.call('POST', '/v10/projects', { name: 'taken' })
  refused(await create(world, 'taken', 'gitlab', REPOS.gitlab), 409, 'conflict')
  refused(await create(world, 'Not A Name', 'gitlab', REPOS.gitlab), 400, 'invalid_project_name')
  assert.deepEqual(gitlab.asked, [])
  // Of several at once one stands, and so does its webhook alone.
  const answers = await Promise.all([0, 1, 2, 3, 4].map(() => create(world, 'web', 'gitlab', REPOS.gitlab)))
  assert.deepEqual(answers.map((answer) => answer.status).sort(), [200, 409, 409, 409, 409])
  assert.equal(gitlab.hooks.length, 1)
  const linked = await Promise.all(
    [0, 1, 2].map(() => world.call.try('POST', '/v9/projects/taken/link', { type: 'gitlab', repo: REPOS.gitlab })),
  )
  for (const answer of linked) assert.ok([200, 409].includes(answer.status), answer.text)
  assert.equal(gitlab.hooks.length, 2, 'one webhook a link, however many asked for it')
})

onBothEngines(
  'a create that waits too long for a lock takes its webhook back, and one whose connection is lost leaves it',
  async (world) => {
    await withCredentials(world)
    const run = (text: string) => sql.raw(text).execute(world.deps.db.read)
    // The server fails with these conditions, as it does when other transactions hold a lock or when it stops.
    await run(`create function fail() returns trigger language plpgsql as $$ begin
      if new.name = 'late' then raise exception 'late' using errcode = '55P03'; end if;
      raise exception 'lost' using errcode = '57P01';
    end $$`)
    await run('create trigger fail before insert on project for each row execute function fail()')
    refused(await create(world, 'late', 'gitlab', REPOS.gitlab), 503, 'unavailable')
    assert.ok(gitlab.asked.some((asked) => asked.startsWith('POST')))
    assert.deepEqual(gitlab.hooks, [])
    refused(await create(world, 'lost', 'gitlab', REPOS.gitlab), 503, 'unavailable')
    assert.equal(gitlab.hooks.length, 1)
  },
  {},
  ['postgres'],
)

onBothEngines(
  'a link must be removed before another is created; an unavailable provider does not block the removal',
  async (world) => {
    await withCredentials(world)
    await create(world, 'web', 'gitlab', REPOS.gitlab)
    gitlab.asked.length = 0
    const link = (type: string, repo: string) => world.call.try('POST', '/v9/projects/web/link', { type, repo })
    assert.equal((await link('gitlab', REPOS.gitlab)).status, 200)
    refused(await link('github', 'acme/web'), 409, 'conflict')
    refused(await link('gitlab', 'acme/team/other'), 409, 'conflict')
    for (const repo of ['web', 'a/b/c', '../x', 'a/..', 'a/b?c', 'a b/c', '', '/', 'a/'.repeat(300)]) {
      refused(
        await world.call.try('POST', '/v10/projects', { name: 'x', gitRepository: { type: 'github', repo } }),
        400,
        'bad_request',
      )
    }
    for (const gitRepository of [{ type: 'svn', repo: 'a/b' }, { type: 'github' }, [], 'a/b', {}]) {
      refused(await world.call.try('POST', '/v10/projects', { name: 'x', gitRepository }), 400, 'bad_request')
    }
    assert.deepEqual(gitlab.asked, [], 'none of these asked the provider')
    gitlab.trouble = 'drop'
    const ended = await world.call('DELETE', '/v9/projects/web/link')
    assert.deepEqual([ended.status, 'link' in ended.body], [200, false])
  },
)

onBothEngines(
  'no domain takes the production branch as its preview branch, and no production branch is one',
  async (world) => {
    await create(world, 'web', 'github', 'acme/web')
    await world.call('POST', '/v10/projects', { name: 'other' })
    const add = (body: object, project = 'web') => world.call.try('POST', `/v10/projects/${project}/domains`, body)
    refused(await add({ name: 'a.example.com', gitBranch: 'main' }), 400, 'production_branch')
    assert.equal((await add({ name: 'a.example.com', gitBranch: 'dev' })).status, 200)
    const patch = (body: object) => world.call.try('PATCH', '/v9/projects/web/domains/a.example.com', body)
    refused(await patch({ gitBranch: 'main' }), 400, 'production_branch')
    assert.equal(
      (await add({ name: 'b.example.com', gitBranch: 'main' }, 'other')).status,
      200,
      'without a link none is known',
    )
    const move = { projectId: 'web', gitBranch: 'main' }
    refused(
      await world.call.try('POST', '/v1/projects/other/domains/b.example.com/move', move),
      400,
      'production_branch',
    )

    const branch = (said: unknown, project = 'web') =>
      world.call.try('PATCH', `/v9/projects/${project}/branch`, { branch: said })
    refused(await branch('dev'), 400, 'production_branch')
    refused(await branch('dev', 'other'), 400, 'bad_request')
    for (const said of ['', 7, null, 'x'.repeat(251)]) refused(await branch(said), 400, 'bad_request')
    const changed = await branch('release')
    assert.equal(changed.body.link.productionBranch, 'release')
    refused(await patch({ gitBranch: 'release' }), 400, 'production_branch')
    assert.equal((await patch({ gitBranch: 'main' })).status, 200)
    refused(
      await world.call.try('POST', '/v9/projects/other/link', { type: 'github', repo: 'acme/other' }),
      400,
      'production_branch',
    )
  },
)

onBothEngines('secrets of a provider are sealed, for their account and their place', async (world) => {
  await withCredentials(world)
  const rows = await world.deps.db.read.selectFrom('git_credential').selectAll().execute()
  const text = JSON.stringify([rows, await world.deps.db.read.selectFrom('audit').selectAll().execute()])
  assert.equal(/hunter2|shared-secret/.test(text) || /hunter2|shared-secret/.test(world.logged()), false)
})

onBothEngines('a sealed token copied to another account does not decrypt (logs an error)', async (world) => {
  await withCredentials(world)
  const { teamId } = world.credentials
  await tamper(world, 'git_credential', { account_id: teamId })
  const body = { name: 'web', gitRepository: { type: 'gitlab', repo: REPOS.gitlab } }
  refused(await world.call.try('POST', `/v10/projects?teamId=${teamId}`, body), 400, 'gitlab_webhook_failed')
  assert.deepEqual(gitlab.asked, [])
})

onBothEngines('a project that changes accounts keeps its link and webhook, and not the credential', async (world) => {
  await withCredentials(world)
  const { link } = (await create(world, 'web', 'gitlab', REPOS.gitlab)).body
  const { code } = (await world.call('POST', '/projects/web/transfer-request')).body
  const taker = await world.user('taker')
  await taker.call('PUT', `/projects/transfer-request/${code}`)
  await world.operator('POST', '/operator/v1/timers/project-transfers/run', {})
  const moved = (await taker.call('GET', '/v9/projects/web')).body
  assert.deepEqual(moved.link, { ...link, gitCredentialId: '' })
  assert.equal((await taker.call('DELETE', '/v9/projects/web/link')).status, 200)
  assert.equal(gitlab.hooks.length, 1, 'the new account has no credential to remove it by')
})
