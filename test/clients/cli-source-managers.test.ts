/** Package managers, versions of Node.js, repositories of several projects and the build cache, built for real. docs/runner.md: Toolchain. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { type Files, folderWith, json, startLaptop } from './source-builds.ts'

/** Writes down what built it. */
const WRITE = 'mkdir -p public && echo "$npm_config_user_agent $(node -v)" > public/index.html'
const project = (fields: object): Files => ({
  'package.json': json({ private: true, scripts: { build: WRITE }, dependencies: { 'is-odd': '3.0.1' }, ...fields }),
})

const PNPM_LOCK = `lockfileVersion: '9.0'
importers:
  .:
    dependencies:
      is-odd:
        specifier: 3.0.1
        version: 3.0.1
packages:
  is-number@6.0.0:
    resolution: {integrity: sha512-Wu1VHeILBK8KAWJUAiSZQX94GmOE45Rg6/538fKwiloUu21KncEkYGPqob2oSZ5mUT73vLGrHQjKw3KMPwfDzg==}
  is-odd@3.0.1:
    resolution: {integrity: sha512-CQpnWPrDwmP1+SMHXZhtLtJv90yiyVfluGsX5iNCVkrhQtU3TQHsUWPG9wkdk9Lgd5yNpAg9jQEo90CBaXgWMA==}
snapshots:
  is-number@6.0.0: {}
  is-odd@3.0.1:
    dependencies:
      is-number: 6.0.0
`

/** TABLE projects: files, and what their page says. */
const PROJECTS: Record<string, { files: Files; page: RegExp }> = {
  npm: { files: project({}), page: /npm\/10\..* v22\./ },
  pnpm: { files: { ...project({}), 'pnpm-lock.yaml': PNPM_LOCK }, page: /pnpm\/10\./ },
  yarn: { files: { ...project({}), 'yarn.lock': '# yarn lockfile v1\n' }, page: /yarn\/1\./ },
  'node-24': { files: project({ engines: { node: '24.x' } }), page: /npm\/11\..* v24\./ },
}

const WORKSPACES: Files = {
  'package.json': json({ private: true, workspaces: ['apps/*', 'packages/*'] }),
  'packages/words/package.json': json({ name: 'words', version: '1.0.0' }),
  'packages/words/index.js': 'exports.word = "from outside of the root"\n',
  ...Object.fromEntries(
    ['one', 'two'].flatMap((name) => [
      [
        `apps/${name}/package.json`,
        json({ name, private: true, scripts: { build: 'node build.js' }, dependencies: { words: '1.0.0' } }),
      ],
      [
        `apps/${name}/build.js`,
        `const fs = require("fs"); fs.mkdirSync("public"); fs.writeFileSync("public/index.html", "${name} " + require("words").word)\n`,
      ],
    ]),
  ),
}

test('package managers and versions of Node.js are those of the project', { timeout: 7_200_000 }, async (t) => {
  const laptop = await startLaptop(t)
  for (const [name, { files, page }] of Object.entries(PROJECTS))
    await t.test(name, { timeout: 1_800_000 }, async () => {
      const { host } = await laptop.deploy(folderWith(t, files, name))
      const shown = await laptop.page(host)
      assert.equal(shown.status, 200)
      assert.match(shown.text, page)
    })
  await t.test('a second build finds the packages of the first', { timeout: 1_800_000 }, async () => {
    const folder = folderWith(t, project({}), 'again')
    const again = async (turn: number, ...words: string[]) => {
      // The same create within ten seconds is the same deployment.
      writeFileSync(join(folder, 'turn'), `${turn}`)
      return (await laptop.deploy(folder, '64.0.2', ['--logs', ...words])).said
    }
    assert.match(await again(1), /There is no build cache yet/)
    assert.match(await again(2), /Restored the build cache/)
    assert.match(await again(3, '--force'), /The build cache is not used/)
  })
  assert.equal(await laptop.running.kill('SIGTERM'), 0)
})

test('two projects of one repository build with what lies outside of their roots', {
  timeout: 3_600_000,
}, async (t) => {
  const laptop = await startLaptop(t)
  for (const name of ['one', 'two']) {
    const folder = folderWith(t, WORKSPACES, name)
    const made = await fetch(`${laptop.running.address}/v10/projects?teamId=${laptop.teamId}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${laptop.token}`, 'content-type': 'application/json' },
      body: json({ name, rootDirectory: `apps/${name}`, sourceFilesOutsideRootDirectory: true }),
    })
    assert.equal(made.status, 200, await made.text())
    const { host } = await laptop.deploy(folder)
    const shown = await laptop.page(host)
    assert.equal(shown.text.trim(), `${name} from outside of the root`)
  }
  assert.equal(await laptop.running.kill('SIGTERM'), 0)
})
