/** Every subset of the eleven scopes against the operations of the specification, by a table that is written here by hand. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SCOPES as KNOWN, permissionsOf } from '../../src/platform/permissions/scopes.ts'
import { ROUTES } from '../../src/routes.ts'
import { SCOPES } from '../platform/access/scope-names.ts'
import { sayFigure } from './form.ts'

type Need = { all?: string[]; any?: string[]; write: boolean }

/** The 21 operations of the specification. The exchange of a code takes the secret of the app and no scope. */
const NEEDS: Record<string, Need> = {
  createProject: { all: ['project'], write: true },
  getProjects: { all: ['project'], write: false },
  getProject: { all: ['project'], write: false },
  updateProject: { all: ['project'], write: true },
  deleteProject: { all: ['project'], write: true },
  pauseProject: { all: ['project'], write: true },
  unpauseProject: { all: ['project'], write: true },
  updateProjectDataCache: { all: ['project'], write: true },
  listPromoteAliases: { all: ['project'], write: false },
  addProjectDomain: { all: ['project', 'domain'], write: true },
  getProjectDomains: { all: ['project'], write: false },
  getProjectDomain: { all: ['project'], write: false },
  updateProjectDomain: { all: ['project', 'domain'], write: true },
  removeProjectDomain: { all: ['project', 'domain'], write: true },
  verifyProjectDomain: { all: ['project', 'domain'], write: true },
  createProjectEnv: { any: ['project-env-vars', 'global-project-env-vars'], write: true },
  filterProjectEnvs: { any: ['project-env-vars', 'global-project-env-vars'], write: false },
  getProjectEnv: { any: ['project-env-vars', 'global-project-env-vars'], write: false },
  editProjectEnv: { any: ['project-env-vars', 'global-project-env-vars'], write: true },
  removeProjectEnv: { any: ['project-env-vars', 'global-project-env-vars'], write: true },
  exchangeCode: { all: [], write: false },
}

test('every subset of the scopes opens what the table says, at read and at read-write, and nothing else', () => {
  assert.deepEqual([...KNOWN].sort(), [...SCOPES].sort())
  const operations = Object.entries(NEEDS).map(([operationId, need]) => {
    const route = ROUTES.find((one) => one.operationId === operationId)
    return { need, operationId, needs: route?.needs ?? [], known: route !== undefined }
  })
  assert.deepEqual(
    operations.filter((one) => !one.known),
    [],
  )
  assert.equal(operations.length, 21)
  let checks = 0
  for (const level of ['read', 'read-write'] as const) {
    for (let subset = 0; subset < 2 ** SCOPES.length; subset++) {
      const has = SCOPES.filter((_, bit) => subset & (1 << bit))
      const granted = permissionsOf('OWNER', JSON.stringify(has.map((scope) => `${level}:${scope}`)))
      for (const { operationId, need, needs } of operations) {
        const may = needs.every((permission) => granted.has(permission))
        assert.equal(
          may,
          allowedByTable(need, has, level),
          `${operationId} with ${level} of ${has.join(' ') || 'nothing'}`,
        )
        checks++
      }
    }
  }
  sayFigure(`scopes: ${checks} checks (2 levels, ${2 ** SCOPES.length} subsets, 21 operations), all as the table says`)
})

function allowedByTable({ all = [], any, write }: Need, has: readonly string[], level: string): boolean {
  const named = all.every((scope) => has.includes(scope)) && (any?.some((scope) => has.includes(scope)) ?? true)
  const takesNone = all.length === 0 && any === undefined
  return takesNone || (named && (!write || level === 'read-write'))
}

/** What each scope hands to an app, whatever else it has: no two scopes together open more than each of them. */
test('scopes add up: what a subset opens is what its scopes open one by one', () => {
  for (const level of ['read', 'read-write'] as const) {
    const alone = SCOPES.map((scope) => [...permissionsOf('OWNER', JSON.stringify([`${level}:${scope}`]))])
    for (let subset = 0; subset < 2 ** SCOPES.length; subset++) {
      const has = SCOPES.filter((_, bit) => subset & (1 << bit))
      const together = permissionsOf('OWNER', JSON.stringify(has.map((scope) => `${level}:${scope}`)))
      const expected = new Set(alone.flatMap((some, bit) => (subset & (1 << bit) ? some : [])))
      assert.deepEqual([...together].sort(), [...expected].sort(), has.join(' '))
    }
  }
})
