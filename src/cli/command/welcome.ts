/** `berth welcome`: prints the setup link of the first start again, for starts without a terminal. */

import { listenOrigin } from '../../config.ts'
import type { CommandResult, Invocation } from '../command-line/command.ts'
import { callService, credentialsFile, readCredentials, ServiceError } from './service-client.ts'

/** Prints the link while it is valid. Exits with 1 when it was used or replaced, with advice. */
export async function welcomeCommand({ settings }: Invocation): Promise<CommandResult> {
  const config = settings()
  const { welcome } = readCredentials(config)
  if (welcome === undefined)
    throw new Error(
      `${credentialsFile(config)} holds no link of the first start: make a link by berth user password-link <username>`,
    )
  try {
    // Opening the page does not consume the link, and shows whether it is valid.
    await callService(config, { method: 'GET', path: welcome, as: 'anyone' })
  } catch (error) {
    if (!(error instanceof ServiceError && error.status === 404)) throw error
    throw new Error('the link was used or replaced: sign in, or make a new one by berth user password-link admin', {
      cause: error,
    })
  }
  const url = `${config.publicUrl ?? listenOrigin(config)}${welcome}`
  return { data: { url }, text: url }
}
