/** Variables as files: `.env` import and export, and pull. docs/variables.md. */

import { findProject } from '../../model/project.ts'
import { accountInGoodStanding, notInTransfer } from '../../platform/access/guards.ts'
import { route } from '../../platform/http/route.ts'
import { CREATE_ENV_REFUSALS } from '../env/rules.ts'
import { importEnvFile, prepareImport } from './import.ts'
import { EnvExportQuery, exportEnv, PulledEnv, PullQuery, pullEnv } from './pull.ts'
import { EnvFile, ImportAnswer, ImportQuery } from './schema.ts'

const tag = 'environment variables'
const MEBIBYTE = 1024 * 1024

const PULLS = [
  // `vercel dev` sends no target.
  ['/v3/env/pull/:projectId', 'pullProjectEnvOfDevelopment', 'Read what development gets'],
  ['/v3/env/pull/:projectId/:target', 'pullProjectEnv', 'Read what a deployment of a target gets'],
  ['/v3/env/pull/:projectId/:target/:gitBranch', 'pullProjectEnvOfBranch', 'Read what a deployment of a branch gets'],
] as const

export const envFileRoutes = [
  route({
    method: 'PUT',
    path: '/v1/projects/:idOrName/env',
    operationId: 'putProjectEnvFile',
    summary: 'Merge a .env text into the variables, or put it in their place; with a dry run, show the plan',
    tag,
    needs: ['env:write'],
    query: ImportQuery,
    body: EnvFile,
    textBody: true,
    bodyLimit: MEBIBYTE,
    load: findProject,
    guards: [accountInGoodStanding, notInTransfer],
    prepare: prepareImport,
    run: importEnvFile,
    auditAs: ({ dryRun }) => (dryRun ? 'previewProjectEnvFile' : undefined),
    emits: ['project.env-variable.created', 'project.env-variable.updated', 'project.env-variable.deleted'],
    refuses: ['not_found', 'env_plan_changed', ...CREATE_ENV_REFUSALS],
    status: 200,
    reply: ImportAnswer,
  }),
  route({
    method: 'GET',
    path: '/v1/projects/:idOrName/env/export',
    operationId: 'exportProjectEnv',
    summary: 'Read the variables of a target as .env text',
    tag,
    needs: ['env:read', 'env:decrypt'],
    query: EnvExportQuery,
    load: findProject,
    run: exportEnv,
    refuses: ['not_found', 'missing_permission'],
    status: 200,
    textReply: true,
  }),
  ...PULLS.map(([path, operationId, summary]) =>
    route({
      method: 'GET',
      path,
      operationId,
      summary,
      tag,
      needs: ['env:read', 'env:decrypt'],
      query: PullQuery,
      load: findProject,
      run: pullEnv,
      refuses: ['not_found', 'missing_permission'],
      status: 200,
      reply: PulledEnv,
    }),
  ),
]
