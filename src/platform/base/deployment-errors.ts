/** TABLE Errors about deployments and their domains: rows of `REFUSALS` (../errors.ts) */
export const DEPLOYMENT_REFUSALS = {
  deployment_url_taken: [409, 'conflict', 'Something else has this url.'],
  deployment_ended: [409, 'conflict', 'The deployment has ended and stays as it is.'],
  not_built_here: [
    400,
    'bad_request',
    'This Berth does not build: BERTH_BUILDS is off. Build first, and deploy what was built: `vercel build && vercel deploy --prebuilt`. Or let your build system register what it built, with an `upstream`, by POST /operator/v1/projects/{projectId}/deployments (docs/deployments.md).',
  ],
  nothing_to_build: [
    400,
    'bad_request',
    'Berth has neither source nor output of this deployment: a build system registered it. Deploy it there again, or send the source by `vercel deploy`.',
  ],
  missing_files: [
    400,
    'missing_files',
    'Some of the files were not uploaded. Upload them by POST /v2/files, and send the request again.',
  ],
  output_refused: [400, 'bad_request', 'The output cannot be deployed.'],
  builds_rate_limited: [
    429,
    'builds_rate_limited',
    'Too many builds of this account wait. Wait until some have ended, or cancel them.',
  ],
  missing_project_settings: [
    400,
    'missing_project_settings',
    'The project does not exist. Create it by POST /v1/projects, or `vercel link`; then deploy.',
  ],
  deployment_not_ready: [409, 'deployment_not_ready', 'Only a deployment that is READY can serve production.'],
  deployment_never_live: [
    409,
    'deployment_never_live',
    'A rollback goes to a deployment that served production before. Promote this one instead.',
  ],
  alias_in_use: [403, 'alias_in_use', 'The name is on another project of the account.'],
  alias_not_verified: [403, 'alias_not_verified', 'The name is not verified for the project.'],
  alias_not_allowed: [403, 'alias_not_allowed', 'The name cannot be used for an alias. Choose another one.'],
  alias_not_ready: [400, 'deployment_not_ready', 'Only a deployment that is READY can have an alias.'],
  alias_in_transfer: [400, 'bad_request', 'The project is being transferred. Try again when the transfer has ended.'],
} as const satisfies Record<string, readonly [number, string, string]>
