/**
 * What an SDK makes of an answer, and what of it is lost: a field that the SDK declares, in whichever arm of its unions, and that is not in what it
 * decodes. A union takes one arm, and drops the fields of the others without an error. A field that no arm declares is one that the SDK does not know.
 */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { createRequire, registerHooks } from 'node:module'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type Route, unversionedPath } from '../../src/platform/http/route.ts'
import { ROUTES } from '../../src/routes.ts'
import type { Answered } from './gather-answers.ts'

// biome-ignore lint/suspicious/noExplicitAny: answers, and validators of several versions of a library, are walked by the names of their parts
type Any = any

/** The modules of an SDK are loaded once more under addresses with this end, where a union is one that can be read. */
const READABLE = '?arms'

registerHooks({
  resolve(specifier, context, next) {
    const found = next(specifier, context)
    const isOfSdk = specifier.startsWith('.') && context.parentURL?.endsWith(READABLE)
    return isOfSdk ? { ...found, url: `${found.url}${READABLE}` } : found
  },
  load(url, context, next) {
    if (!url.endsWith(`/types/smartUnion.js${READABLE}`)) return next(url, context)
    const source = `import * as z from 'zod/v3'; export const smartUnion = (options) => z.union(options)`
    return { format: 'module', shortCircuit: true, source }
  },
})

/** An operation that Berth and the SDK have, whose answer the SDK decodes. */
export type Decoder = { route: Route; decode(answer: unknown): unknown; declared: Any }

/** Reads out of the code of an SDK (its folder `esm`) how it decodes the answer of each operation that Berth has. */
export async function readDecoders(folder: string): Promise<Decoder[]> {
  const decoders: Decoder[] = []
  for (const name of readdirSync(join(folder, 'funcs')).filter((file) => file.endsWith('.js'))) {
    const file = join(folder, 'funcs', name)
    const code = readFileSync(file, 'utf8')
    const [, path] = /pathToFunc\("([^"]+)"\)/.exec(code) ?? []
    const [, method] = /method: "([A-Z]+)"/.exec(code) ?? []
    const schema = /M\.json\(20[01], (.*?)\)(?:, M\.|\)\()/.exec(code)?.[1]
    if (path === undefined || schema === undefined) continue
    const routes = SERVED.get(placeOf(method!, path)) ?? []
    for (const route of routes.filter(({ reply }) => reply !== undefined)) {
      const [real, declared] = [await schemaOf(code, file, schema, ''), await schemaOf(code, file, schema, READABLE)]
      decoders.push({ route, decode: (answer) => real.parse(answer), declared })
    }
  }
  return decoders
}

const SERVED = Map.groupBy(
  ROUTES.filter(({ auth }) => auth === 'public'),
  (route) => placeOf(route.method, route.path),
)

/** Names of parts of a path are the reader's: `{teamId}` and `:idOrSlug` are one place. */
function placeOf(method: string, path: string): string {
  return `${method} ${unversionedPath(path).replaceAll(/\{\w+\}|:\w+/g, '*')}`
}

/** The validator that an expression in the code of a method means: `z.array(X$inboundSchema)`. */
async function schemaOf(code: string, file: string, expression: string, end: string): Promise<Any> {
  const names = [...new Set(expression.match(/\b[A-Za-z]\w*\$inboundSchema|\btypes\$|\bz\b/g) ?? [])]
  const values = await Promise.all(
    names.map(async (name) => {
      const [, from] =
        new RegExp(`import (?:\\* as ${escaped(name)}|\\{[^}]*?\\b${escaped(name)}[^}]*\\}) from "([^"]+)"`).exec(
          code,
        ) ?? []
      assert.ok(from !== undefined, `${file}: ${name} comes from nowhere`)
      const module = await importFrom(from, file, end)
      return name === 'z' || name === 'types$' ? module : module[name]
    }),
  )
  return new Function(...names, `return ${expression}`)(...values)
}

async function importFrom(from: string, file: string, end: string): Promise<Any> {
  if (from.startsWith('.')) return import(`${pathToFileURL(join(dirname(file), from)).href}${end}`)
  return import(pathToFileURL(createRequire(file).resolve(from)).href)
}

function escaped(name: string): string {
  return name.replaceAll('$', '\\$')
}

/** Gives the paths of what an answer has, the SDK declares, and the decoded answer has not: `deployments[].meta`. */
export function lossesIn(answer: Any, decoded: Any, declared: Any): string[] {
  return [...new Set(lost(answer, decoded, armsOf(declared), ''))]
}

function lost(answer: Any, decoded: Any, arms: Any[], at: string): string[] {
  if (Array.isArray(answer)) {
    const items = arms.flatMap((arm) => (kindOf(arm) === 'array' ? armsOf(arm.element) : []))
    return answer.flatMap((one, index) => lost(one, decoded?.[index], items, `${at}[]`))
  }
  if (typeof answer !== 'object' || answer === null) return decoded === undefined && arms.length > 0 ? [at] : []
  if (typeof decoded !== 'object' || decoded === null) return arms.length > 0 ? [at] : []
  const known = new Map(Object.entries(decoded).map(([name, value]) => [lettersOf(name), value]))
  return Object.entries(answer).flatMap(([name, value]) => {
    const inner = arms.flatMap((arm) => fieldOf(arm, name))
    const path = at === '' ? name : `${at}.${name}`
    return inner.length === 0 ? [] : lost(value, known.get(lettersOf(name)), inner, path)
  })
}

/** `_type` and `env_id` are `type` and `envId` in the types of an SDK. */
function lettersOf(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9]/g, '').toLowerCase()
}

/** What an arm declares of a field. */
function fieldOf(arm: Any, name: string): Any[] {
  if (kindOf(arm) === 'object') return Object.hasOwn(arm.shape, name) ? armsOf(arm.shape[name]) : []
  return kindOf(arm) === 'record' ? armsOf(arm._def.valueType) : []
}

/** What Zod calls a validator: `_def.typeName` is `ZodObject` in its version 3, and `_def.type` is `object` in version 4. */
function kindOf({ _def }: Any): string {
  return _def.typeName === undefined ? _def.type : _def.typeName.slice('Zod'.length).toLowerCase()
}

/** The validators that a validator is made of, without what wraps them. What is of another kind holds no fields. */
function armsOf(schema: Any): Any[] {
  const { _def } = schema
  const kind = kindOf(schema)
  if (kind === 'effects') return armsOf(_def.schema)
  if (/^(optional|nullable|default|prefault|branded|catch|readonly)$/.test(kind))
    return armsOf(_def.innerType ?? _def.type)
  if (kind === 'lazy') return armsOf(_def.getter())
  if (/^pipe(line)?$/.test(kind)) return armsOf(_def.in)
  if (/^(discriminated)?union$/.test(kind)) return [..._def.options.values()].flatMap(armsOf)
  return kind === 'intersection' ? [...armsOf(_def.left), ...armsOf(_def.right)] : [schema]
}

/** What an SDK drops whatever it is answered. `from` and `before`: the versions that do, all without them. */
type Kept = { operations: string[]; lost: RegExp; from?: string; before?: string; why: string }

/** TABLE losses that no answer can cure, each with the reason. A row that is of no use any more fails the test. */
export const KEPT: readonly Kept[] = [
  {
    operations: ['getDeployment'],
    lost: /^(projectId|inspectorUrl|build|createdIn|isIn\w+Queue|ownerId|plan|projectSettings|routes|customEnvironment\.id)$/,
    before: '1.8.0',
    why: 'The union takes its first arm that decodes, that of an outsider, which demands nothing that the full one does not.',
  },
  {
    operations: ['getRecords', 'filterProjectEnvs', 'listPromoteAliases', 'getProjectMembers', 'editProjectEnv'],
    lost: /./,
    before: '1.8.0',
    why: 'The union takes its first arm that decodes, which is an empty object or has no pagination.',
  },
  {
    operations: ['getProjects', 'updateProject', 'updateProjectDataCache'],
    lost: /trustedIps\.(addresses|protectionMode)/,
    before: '1.8.0',
    why: 'The union takes its first arm that decodes, which has `deploymentType` alone.',
  },
  {
    operations: ['getTeams'],
    lost: /^teams\[\]\.(?!limited$)/,
    before: '1.7.0',
    why: 'The union takes its first arm that decodes, the small one: it demands `limited`, which 1.7 reads no team without.',
  },
  {
    operations: ['getTeams'],
    lost: /^teams\[\]\.limited$/,
    from: '1.8.0',
    why: 'The full arm, which is taken, does not have it.',
  },
  {
    operations: ['inviteUserToTeam'],
    lost: /^email$/,
    before: '1.8.0',
    why: 'The union takes its first arm that decodes, which has no email.',
  },
  {
    operations: ['getProjectEnv'],
    lost: /^value$/,
    before: '1.18.6',
    why: 'The arm with `value` comes after those that have `decrypted` and no value.',
  },
  {
    operations: ['getAlias'],
    lost: /^does not decode: .*[Ee]xpected array/,
    from: '1.11.0',
    before: '1.18.6',
    why: 'These versions read one alias as a list.',
  },
  {
    operations: ['getConfigurations'],
    lost: /^\[\]\.integration$/,
    before: '1.19.0',
    why: 'The union takes the list of installations without their integrations, which is its first.',
  },
  {
    operations: ['getConfiguration'],
    lost: /^projectSelection$/,
    from: '1.4.0',
    why: 'The arm with `projectSelection` demands the transfer of a product of a marketplace.',
  },
  {
    operations: ['getProjects'],
    lost: /^projects\[\]\.serverlessFunctionRegion$/,
    from: '1.18.6',
    why: 'The full arm has it as a default of `resourceConfig` alone; `functionDefaultRegions` says the same.',
  },
  {
    operations: [
      'getProject',
      'getProjects',
      'updateProject',
      'updateProjectDataCache',
      'updateProjectProtectionBypass',
    ],
    lost: /protectionBypass\.\w+\.(integrationId|configurationId)$/,
    why: 'They are empty, and there for the other arms: docs/clients.md (Why).',
  },
]

/**
 * Decodes each answer by the SDK whose folder `esm` is named. Gives what goes wrong beyond the table, the rows of the table that were needed, and
 * how many operations were decoded.
 */
export async function lossesOf(version: string, folder: string, answers: readonly Answered[]) {
  const rows = KEPT.filter(
    ({ from, before }) => !isBefore(version, from) && (before === undefined || isBefore(version, before)),
  )
  const used = new Set<Kept>()
  const decoded = new Set<string>()
  const losses = new Set<string>()
  for (const { route, decode, declared } of await readDecoders(folder)) {
    const { operationId } = route
    for (const one of answers) {
      if (one.operationId !== operationId || (one.version ?? version) !== version) continue
      decoded.add(operationId)
      for (const wrong of whatGoesWrong(one.answer, decode, declared)) {
        const row = rows.find(({ operations, lost }) => operations.includes(operationId) && lost.test(wrong))
        if (row === undefined) losses.add(`${version} ${operationId}: ${wrong}`)
        else used.add(row)
      }
    }
  }
  return { losses: [...losses], used, decoded: decoded.size }
}

function isBefore(version: string, other: string | undefined): boolean {
  return other !== undefined && version.localeCompare(other, 'en', { numeric: true }) < 0
}

function whatGoesWrong(answer: unknown, decode: Decoder['decode'], declared: Any): string[] {
  try {
    return lossesIn(answer, decode(answer), declared)
  } catch (error) {
    return [`does not decode: ${String(error).replaceAll(/\s+/g, ' ').slice(0, 300)}`]
  }
}

/** Holds that no SDK loses a field that it knows, and that each row of the table is needed by one. */
export async function losesNothing(
  sdks: readonly { version: string; folder: string }[],
  answers: readonly Answered[],
  rows = KEPT,
): Promise<void> {
  const losses: string[] = []
  const used = new Set<Kept>()
  for (const { version, folder } of sdks) {
    const found = await lossesOf(version, folder, answers)
    losses.push(...found.losses)
    for (const row of found.used) used.add(row)
    assert.ok(found.decoded >= 40, `${version} decoded ${found.decoded} answers`)
  }
  assert.equal(losses.join('\n'), '')
  assert.deepEqual(
    rows.filter((row) => !used.has(row)).map(({ why }) => why),
    [],
    'rows of the table that nothing needs',
  )
}
