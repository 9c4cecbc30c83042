/** Requests of sites servers about functions. docs/functions.md: Environment. */

import type { Deps } from '../../context.ts'
import { environmentOfFunctions } from '../../delivery/functions/environment.ts'
import { FUNCTION_ENVIRONMENT_PATH } from '../../delivery/protocol/function-channel.ts'
import { runsFunctions } from '../../platform/settings/functions.ts'
import { json, plain } from '../../platform/verdict/plain-answer.ts'
import type { EdgeResponse } from '../../platform/verdict/visitor-answer.ts'

/** Whether a path is about functions. */
export function isOfFunctions(path: string): boolean {
  return path.startsWith(FUNCTION_ENVIRONMENT_PATH)
}

/** Answers with the variables of the functions of a deployment. */
export async function answerEnvironment(deps: Deps, path: string): Promise<EdgeResponse> {
  if (!runsFunctions(deps.config.functions))
    return plain(403, 'Set BERTH_FUNCTIONS on the control plane to give variables to functions.')
  const id = path.slice(FUNCTION_ENVIRONMENT_PATH.length)
  const { read } = deps.db
  const deployment = await read.selectFrom('deployment').selectAll().where('id', '=', id).executeTakeFirst()
  const project =
    deployment &&
    (await read.selectFrom('project').selectAll().where('id', '=', deployment.project_id).executeTakeFirst())
  if (deployment === undefined || project === undefined || deployment.ready_state !== 'READY')
    return plain(404, 'No READY deployment has this id.')
  const environment = await environmentOfFunctions(deps, project, deployment)
  if (environment === undefined) return plain(409, NOT_OPENED)
  return json(200, environment)
}

const NOT_OPENED =
  'A variable cannot be decrypted: the keyring of this Berth lacks its key. Ask the operator (docs/variables.md).'
