/** TABLE the work that is measured, and its goals. docs/bench.md: How to read the results. */
import type { Asked } from './asked.ts'

/** `thousand`: 1,000 projects with 10 variables each in one account. `crowd`: 100,000 such projects in 1,000 accounts. */
export type StoreName = 'thousand' | 'crowd'
export type Engine = 'sqlite' | 'postgres'

/** A comparison: the minimum factor of its requests per second. */
export type Compared = 'bare' | 'peer' | 'create' | 'before'
/** `p99`: the limit in ms under full load; `p99AtHalf`: at half of it. */
export type Goals = Partial<Record<Compared, number>> & { p99?: number; p99AtHalf?: number }

export type Case = {
  name: string
  title: string
  store: StoreName
  /** `names`: the beginning of names that no load of this run has used. */
  asked: (names: string) => Omit<Asked, 'headers'>
  /** How the peer is asked; not said: it cannot do it. */
  peer?: (names: string) => Omit<Asked, 'headers'>
  /** Whether 50 writes a second run meanwhile. */
  beside?: true
  /** Whether each load needs 64 new projects, named with its `names`. */
  makesProjects?: true
  /** On which engines it is measured, with which goals. */
  goals: Partial<Record<Engine, Goals>>
}

export const CONNECTIONS: Record<Engine, number> = { sqlite: 64, postgres: 32 }
export const THOUSAND = 1000
export const CROWD = { projects: 100_000, accounts: 1000 }
export const VARIABLES = 10
export const NEW_PROJECTS = 64

const SEEDED = '/v9/projects/seeded-project-{n}'
const ofThousand = { method: 'GET', of: THOUSAND } as const
const ofCrowd = { method: 'GET', of: CROWD.projects, accounts: CROWD.accounts } as const
const variable = JSON.stringify({ key: 'V_{i}', value: 'value-{i}', type: 'encrypted', target: ['production'] })

const create = (path: string) => (names: string) =>
  ({ method: 'POST', path, body: JSON.stringify({ name: `${names}-{i}` }) }) as const
const createVariable = (place: string) => (names: string) =>
  ({ method: 'POST', path: `/v10/projects/${names}-${place}/env`, body: variable, of: NEW_PROJECTS }) as const

/** Project creation, the reference for variable creation. */
export const CREATE = create('/v10/projects')
/** The path at which the peer creates. */
export const PEER_CREATE = '/v11/projects'

export const CASES: readonly Case[] = [
  {
    name: 'get',
    title: 'get of a random project of 1,000',
    store: 'thousand',
    asked: () => ({ ...ofThousand, path: SEEDED }),
    peer: () => ({ ...ofThousand, path: SEEDED }),
    beside: true,
    goals: { sqlite: { bare: 0.35, p99AtHalf: 5 }, postgres: { before: 6, p99: 30 } },
  },
  {
    name: 'get-crowd',
    title: 'get of a random project of 100,000',
    store: 'crowd',
    asked: () => ({ ...ofCrowd, path: SEEDED }),
    beside: true,
    goals: { sqlite: { bare: 0.15 } },
  },
  {
    name: 'list-crowd',
    title: 'list 20 of 100 projects, of 1,000 accounts',
    store: 'crowd',
    asked: () => ({ ...ofCrowd, path: '/v9/projects?limit=20' }),
    beside: true,
    goals: { sqlite: { bare: 0.2 } },
  },
  {
    name: 'list',
    title: 'list 20 of 1,000 projects',
    store: 'thousand',
    asked: () => ({ ...ofThousand, path: '/v10/projects?limit=20' }),
    peer: () => ({ ...ofThousand, path: '/v10/projects?limit=20' }),
    beside: true,
    goals: { sqlite: {}, postgres: { before: 6, p99: 30 } },
  },
  {
    name: 'variables',
    title: 'list 10 variables of a random project',
    store: 'thousand',
    asked: () => ({ ...ofThousand, path: `${SEEDED}/env`.replace('v9', 'v10') }),
    peer: () => ({ ...ofThousand, path: `${SEEDED}/env`.replace('v9', 'v10') }),
    goals: { sqlite: { bare: 0.3 }, postgres: { before: 6, p99: 30 } },
  },
  {
    name: 'pull',
    title: 'pull of 10 variables',
    store: 'thousand',
    asked: () => ({ ...ofThousand, path: '/v3/env/pull/seeded-project-{n}/production' }),
    goals: { sqlite: {}, postgres: {} },
  },
  {
    name: 'create',
    title: 'durable create of a project',
    store: 'thousand',
    asked: CREATE,
    peer: create(PEER_CREATE),
    goals: { sqlite: { peer: 2 }, postgres: { before: 4, p99: 30 } },
  },
  {
    name: 'variable-1',
    title: 'create of a variable, in one project',
    store: 'thousand',
    asked: createVariable('{p}'),
    makesProjects: true,
    goals: { sqlite: { create: 0.8 }, postgres: {} },
  },
  {
    name: 'variable-64',
    title: 'create of a variable, in 64 projects',
    store: 'thousand',
    asked: createVariable('{n}'),
    makesProjects: true,
    goals: { sqlite: { create: 0.8 }, postgres: {} },
  },
]

/** Writes during a load, 50 times a second, alternating: a project's settings, and a variable. */
export function writesBeside(store: StoreName): Omit<Asked, 'headers'>[] {
  const { of, accounts } = { accounts: 1, ...(store === 'crowd' ? ofCrowd : ofThousand) }
  // The values of the crowd do not open, so a variable of its own is written there.
  const key = store === 'crowd' ? 'WRITTEN' : 'VARIABLE_0'
  const body = JSON.stringify({ key, value: 'value-{i}', type: 'encrypted', target: ['production'] })
  return [
    { method: 'PATCH', path: SEEDED, body: JSON.stringify({ buildCommand: 'npm run build-{i}' }), of, accounts },
    { method: 'POST', path: `${SEEDED.replace('v9', 'v10')}/env?upsert=true`, body, of, accounts },
  ]
}
