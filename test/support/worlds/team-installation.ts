/** What the tests of the disabled life cycle share: a second owner of the first team, with an installation on it. */

import assert from 'node:assert/strict'
import { callWith } from '../call.ts'
import type { World } from '../world.ts'
import { consentAndInstall, seedIntegration } from './installation-rows.ts'

export const DAY = 86_400_000
export const MINUTE = 60_000
const EVERYTHING = [
  'project',
  'domain',
  'global-project-env-vars',
  'team',
  'user',
  'log-drain',
  'integration-configuration',
]
export const SCOPES = EVERYTHING.map((scope) => `read-write:${scope}`)

/** A second owner of the first team, an installation of theirs on it, and a call with its token that names the team. */
export async function openTeam(world: World) {
  const { teamId } = world.credentials
  const ada = await world.user('ada')
  await setRole(world, ada.id, 'OWNER')
  const integration = await seedIntegration(world, SCOPES)
  const account = { id: teamId, kind: 'team' } as const
  const installed = await consentAndInstall(world, integration, { userId: ada.id, account })
  const as = (token: string) => callWith(world.as(token), `teamId=${teamId}`)
  return { ada, integration, account, installed, call: as(installed.token), as }
}

export async function setRole(world: World, userId: string, role: string) {
  const path = `/operator/v1/teams/${world.credentials.teamId}/members/${userId}`
  const answer = await world.operator('PUT', path, { role })
  assert.equal(answer.status, 200, answer.text)
}

export const leave = (world: World, userId: string) =>
  world.operator.try('DELETE', `/operator/v1/teams/${world.credentials.teamId}/members/${userId}`)
export const sweep = async (world: World, now?: number) =>
  (await world.operator('POST', '/operator/v1/timers/disabled-configurations/run', now === undefined ? {} : { now }))
    .body
