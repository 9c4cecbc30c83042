/** Project, environment and branch of a deployment, from the request. docs/deploying-sites.md: Create a deployment. */
import type { Ctx, Input } from '../../context.ts'
import { environmentOf } from '../../model/environment.ts'
import { findProject, projectExists } from '../../model/project.ts'
import { mustBeName } from '../../model/project-name.ts'
import { type SettingsBody, SettingsBody as SettingsSchema } from '../../model/project-settings.ts'
import { notInTransferUnlocked } from '../../platform/access/guards.ts'
import { isProjectId } from '../../platform/access/prefetch.ts'
import type { Row } from '../../platform/db/schema.ts'
import { validate } from '../../platform/http/validate.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { createProject } from '../../projects/projects/projects.ts'
import { readMeta } from '../../projects/serving/validate.ts'
import { type CreateDeployment, type CreateDeploymentQuery, isYes } from './create-schema.ts'

export type CreateInput = Input<CreateDeploymentQuery, CreateDeployment>

/**
 * Returns the project of a request; undefined if it must be created. Refuses: missing_project_settings 400 (no such project, and
 * the client has not confirmed), not_found 404 (unknown id), invalid_project_name 400, in_transfer 409.
 */
export async function findPlace(ctx: Ctx, input: CreateInput): Promise<Row<'project'> | undefined> {
  const { body, query } = input
  const idOrName = body.project ?? body.name ?? ''
  if (await projectExists(ctx, idOrName)) {
    const project = await findProject(ctx, { idOrName })
    await notInTransferUnlocked(ctx, project, input)
    return project
  }
  if (isProjectId(idOrName)) refuse('not_found', `Project "${idOrName.slice(0, 100)}" not found.`)
  if (!isYes(query.skipAutoDetectionConfirmation))
    refuse('missing_project_settings', undefined, { projectSettings: UNDETECTED, framework: NO_FRAMEWORK })
  mustBeName(idOrName)
  return undefined
}

/** TABLE settings that a client detects in a folder, for the new project. */
const DETECTED = [
  'framework',
  'buildCommand',
  'devCommand',
  'installCommand',
  'outputDirectory',
  'rootDirectory',
  'nodeVersion',
] as const

/** Creates the project of a folder without one. Refuses: as creating a project does. */
export async function createPlace(ctx: Ctx, { body, ...input }: CreateInput): Promise<Row<'project'>> {
  const sent = Object.entries(body.projectSettings ?? {}).filter(([field]) => DETECTED.includes(field as 'framework'))
  const settings = validate(SettingsSchema, Object.fromEntries(sent), 'projectSettings') as SettingsBody
  const name = body.project ?? body.name ?? ''
  const nothing = { hash: undefined, connected: undefined }
  const { id } = await createProject(ctx, undefined, { ...input, body: { ...settings, name } }, nothing)
  return findProject(ctx, { idOrName: id })
}

/** Returns the build settings that a request names, for its deployment alone. Refuses: bad_request 400 (an invalid value). */
export function readBuildSettings({ projectSettings }: CreateDeployment): object {
  const fields: readonly string[] = [...DETECTED, 'commandForIgnoringBuildStep', 'sourceFilesOutsideRootDirectory']
  const sent = Object.entries(projectSettings ?? {}).filter(
    ([field, value]) => fields.includes(field) && value !== null,
  )
  return validate(SettingsSchema, Object.fromEntries(sent), 'projectSettings') as object
}

type Shows = Pick<Row<'deployment'>, 'target' | 'custom_environment_id'>

/** Returns what a deployment shows. `project` undefined: a new one. Refuses: bad_request 400 (an environment that the project does not have). */
export function readTarget(project: Row<'project'> | undefined, body: CreateDeployment): Shows {
  const { target, customEnvironmentSlugOrId } = body
  if (target === 'production') return { target, custom_environment_id: null }
  const isNamed = typeof target === 'string' && target !== 'preview' && target !== ''
  const slugOrId = customEnvironmentSlugOrId ?? (isNamed ? target : undefined)
  if (slugOrId === undefined) return { target: 'preview', custom_environment_id: null }
  const environment = project && environmentOf(project, slugOrId)
  if (environment !== undefined) return { target: 'preview', custom_environment_id: environment.id }
  const field = customEnvironmentSlugOrId == null ? 'target' : 'customEnvironmentSlugOrId'
  return refuse(
    'bad_request',
    `Invalid request: \`${field}\` is "${slugOrId}", and the project has no such environment.`,
  )
}

const BRANCH_FIELDS = ['githubCommitRef', 'gitlabCommitRef', 'bitbucketCommitRef'] as const
const MAX_BRANCH = 250

/** Returns the git branch of a deployment, if the client sends one. */
export function readBranch({ gitMetadata, meta }: CreateDeployment): string | null {
  const sent = [(gitMetadata as Fields)?.commitRef, ...BRANCH_FIELDS.map((field) => (meta as Fields)?.[field])]
  const branch = sent.find((value) => typeof value === 'string' && value !== '') as string | undefined
  return branch === undefined || branch.length > MAX_BRANCH ? null : branch
}

type Fields = Record<string, unknown> | null | undefined

const MAX_VALUE = 1000
const MAX_FIELDS = 100

/** Returns the meta of a deployment to store; truncates long texts such as commit messages. Refuses: bad_request 400 (more than 100 fields, or 4 KiB). */
export function readClientMeta({ meta: sent }: CreateDeployment, before: Record<string, string> = {}): string {
  const values = Object.entries((sent ?? {}) as object).filter(
    ([, value]) => value !== null && typeof value !== 'object',
  )
  const texts = values.map(([field, value]) => [field, String(value).slice(0, MAX_VALUE).toWellFormed()])
  const meta = { ...before, ...Object.fromEntries(texts) }
  if (Object.keys(meta).length > MAX_FIELDS)
    refuse('bad_request', `Invalid request: \`meta\` has more than ${MAX_FIELDS} fields.`)
  return readMeta(meta)
}

/** Berth detects no framework: the client prompts the user, or sends its result. */
const UNDETECTED = {
  framework: null,
  buildCommand: null,
  devCommand: null,
  installCommand: null,
  outputDirectory: null,
}
const NO_FRAMEWORK = {
  slug: null,
  name: 'Other',
  settings: {
    installCommand: { placeholder: '`yarn install`, `pnpm install`, `npm install`, or `bun install`' },
    buildCommand: { placeholder: '`npm run vercel-build` or `npm run build`' },
    devCommand: { placeholder: 'None' },
    outputDirectory: { placeholder: '`public` if it exists, or `.`' },
  },
}
