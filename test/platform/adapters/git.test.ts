/** What git hosts answer that is not what their documentation says. docs/git-links.md. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import { GIT_CLIENTS } from '../../../src/platform/adapters/git.ts'

const GITLAB = {
  ...{ id: 4711, name: 'Web', name_with_namespace: 'Acme / Web', path_with_namespace: 'acme/web', path: 'web' },
  namespace: { id: 7, name: 'Acme', path: 'acme', kind: 'group', full_path: 'acme' },
  ...{ web_url: 'https://gitlab.example/acme/web', default_branch: 'trunk' },
}
const BITBUCKET = {
  ...{ full_name: 'acme/web', name: 'Web', uuid: '{r}', workspace: { uuid: '{w}' }, mainbranch: { name: 'main' } },
  links: { html: { href: 'https://bitbucket.example/acme/web' } },
}

let said: unknown
const server = createServer((_, response) => response.end(JSON.stringify(said)))
before(() => new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve)))
after(() => new Promise((resolve) => server.close(resolve)))

async function read(provider: keyof typeof GIT_CLIENTS, answer: unknown) {
  said = answer
  const { port } = server.address() as AddressInfo
  const access = { baseUrl: `http://127.0.0.1:${port}`, token: 'glpat-secret', username: null }
  return GIT_CLIENTS[provider].readRepository(access, 'acme/web')
}

test('a repository is read from the documented response, and its branch is main where none is given', async () => {
  const gitlab = await read('gitlab', GITLAB)
  assert.deepEqual('value' in gitlab && [gitlab.value.path, gitlab.value.defaultBranch], ['4711', 'trunk'])
  const bitbucket = await read('bitbucket', { ...BITBUCKET, mainbranch: null })
  assert.deepEqual('value' in bitbucket && [bitbucket.value.path, bitbucket.value.defaultBranch], ['acme/web', 'main'])
})

for (const [provider, whole, wrong] of [
  ['gitlab', GITLAB, [{ id: '4711' }, { name: 1 }, { namespace: null }, { namespace: 'acme' }, { web_url: '' }]],
  [
    'bitbucket',
    BITBUCKET,
    [{ full_name: null }, { uuid: 7 }, { workspace: '{w}' }, { mainbranch: 'dev' }, { mainbranch: 1 }, { links: {} }],
  ],
] as const)
  test(`what ${provider} answers in another form is said to be not understood`, async () => {
    for (const answer of [null, [], 'text', 1, {}, ...wrong.map((part) => ({ ...whole, ...part }))])
      assert.deepEqual(await read(provider, answer), { fault: 'its answer was not understood' }, JSON.stringify(answer))
  })
