/** What the tests of backup and restore share: a store with some projects that was backed up, and homes to restore it to. */
import assert from 'node:assert/strict'
import { copyFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { pino } from 'pino'
import { readConfig } from '../../../src/config.ts'
import { openService } from '../../../src/service.ts'
import { berth } from '../../support/clients/command.ts'
import { credentialsOf, newHome, type RunningService, type ServiceHome, sendRequest } from '../../support/process.ts'
import type { Engine } from '../../support/world.ts'

export const SECRET = 'variables-of-the-drill'

/** A store with some projects, each with a sealed variable, and a backup of it; the service is stopped. */
export async function backedUp(t: TestContext, engine: Engine, words: string[] = []) {
  const home = await newHome(t, engine)
  // Within this process: what is tested is the backup, and a start of the program costs more than it.
  const service = await openService(readConfig(home.env), pino({ level: 'silent' }), assert.ifError)
  const address = await service.app.listen({ host: '127.0.0.1', port: 0 })
  const { token } = credentialsOf(home)
  for (const name of ['one', 'two', 'three']) assert.equal(await create({ address }, token, name), 200)
  const { code, out, err } = await berth(['backup', join(home.folder, 'copies/'), '--json', ...words], home.env)
  assert.equal(code, 0, err)
  await service.close()
  const told = JSON.parse(out)
  return { home, token, file: told.file as string, told }
}

/** A project, its event and its variable: one transaction. */
export async function create(
  running: Pick<RunningService, 'address'>,
  token: string,
  name: string,
): Promise<number | undefined> {
  const environmentVariables = [{ key: 'SECRET', value: `${SECRET} ${name}`, target: 'preview', type: 'encrypted' }]
  return (await sendRequest(running, token, 'POST', '/v10/projects', { name, environmentVariables }))?.status
}

/** A fresh home of an engine, with the keyring of another one where it is wanted. */
export async function freshHome(t: TestContext, engine: Engine, keysOf?: ServiceHome): Promise<ServiceHome> {
  const home = await newHome(t, engine)
  mkdirSync(home.folder, { mode: 0o700 })
  if (keysOf !== undefined) copyFileSync(join(keysOf.folder, 'keys.json'), join(home.folder, 'keys.json'))
  return home
}

export async function secretOf(running: RunningService, token: string, name: string): Promise<string | undefined> {
  const answer = await sendRequest(running, token, 'GET', `/v9/projects/${name}/env?decrypt=true`)
  return (answer?.body as { envs?: { value: string }[] } | undefined)?.envs?.[0]?.value
}
