/** The Terraform provider deploys a prebuilt folder, for a user and for a team: sends the list, uploads missing files, polls for the aliases. */
import assert from 'node:assert/strict'
import { listOf, SITE } from '../delivery/deploys/deploying.ts'
import { sha1Of } from '../delivery/uploads/uploading.ts'
import { onBothEngines } from '../support/world.ts'
import { SETTINGS } from '../support/worlds/deploy-world.ts'
import { note } from './ledger.ts'
import type { Decoded } from './sdk-client.ts'
import { type ApiError, isGone, newProvider } from './terraform-provider.ts'

/** Uploads a file under its SHA-1, as bytes. */
async function upload(origin: string, token: string, teamId: string | undefined, content: string): Promise<void> {
  const answer = await fetch(`${origin}/v2/now/files${teamId === undefined ? '' : `?teamId=${teamId}`}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/octet-stream',
      'x-vercel-digest': sha1Of(Buffer.from(content)),
    },
    body: content,
  })
  assert.equal(answer.status, 200, await answer.text())
}

onBothEngines(
  'the calls of the Terraform provider make a deployment of a prebuilt folder, and remove it',
  async (world) => {
    const { token, teamId } = world.credentials
    const origin = await world.listen()
    for (const team of [undefined, teamId]) {
      const ask = newProvider(origin, token, team)
      const { id: project } = await ask('POST', '/v8/projects', { name: 'web' })
      // It says the project in both fields, and settings that are not configured as an empty object.
      const body = { files: listOf(SITE).map(({ mode, ...file }: Decoded) => file), build: {}, project, name: project }
      const create = () =>
        ask('POST', '/v12/now/deployments?skipAutoDetectionConfirmation=1', {
          ...body,
          projectSettings: {},
          target: 'production',
        })
      await assert.rejects(create(), (error: ApiError) => error.code === 'missing_files')
      for (const content of Object.values(SITE)) await upload(origin, token, team, String(content))
      const made = await create()
      // It is done once aliases point to it and nothing is wrong with them; a Go program reads these types.
      let read = await ask('GET', `/v13/deployments/${made.id}`)
      for (; read.aliasAssigned !== true; read = await ask('GET', `/v13/deployments/${made.id}`))
        assert.equal(['CANCELED', 'ERROR'].includes(read.readyState), false, read.readyState)
      assert.deepEqual([read.readyState, read.target, read.projectId], ['READY', 'production', project])
      assert.equal(read.aliasError ?? null, null)
      assert.ok(Array.isArray(read.alias) && read.alias.length > 0)
      assert.ok(Array.isArray(read.build.env))
      assert.equal(typeof read.creator.username, 'string')
      assert.match(read.url, /^web-[a-z0-9]{9}\.apps\.example\.net$/)
      await ask('DELETE', `/v13/deployments/${made.id}`)
      await isGone(ask('GET', `/v13/deployments/${made.id}`))
    }
    for (const step of ['create', 'read', 'delete'])
      note({
        client: 'terraform-provider',
        operation: `vercel_deployment ${step}`,
        engine: world.engine,
        outcome: 'works',
      })
  },
  SETTINGS,
)
