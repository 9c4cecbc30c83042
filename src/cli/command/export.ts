/** `berth export`: the data of an account as a directory of JSON and `.env` files. docs/moving-in.md: Export. */
import { existsSync, readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { createTrustedFetch } from '../../operations/doctor/network/trusted-fetch.ts'
import { writeFileAtomically } from '../../platform/adapters/atomic-file.ts'
import { createDirectory } from '../../platform/adapters/directory.ts'
import { pluralize } from '../../platform/base/text.ts'
import { reasonLeftOut, writeDotenv } from '../../projects/env-files/dotenv.ts'
import { BadUsage, type CommandResult, type Invocation } from '../command-line/command.ts'
import { type ProjectData, projectsIn, readProject } from './import/project.ts'
import { openServer, type Server, segment } from './import/server.ts'
import { environmentLabels, readServerValue } from './import/variables.ts'
import { clientToken, serviceOrigin } from './service-client.ts'

/** Writes into a new or empty directory, project by project. Every file is private (mode 0600). */
export async function exportAccount({ value, settings, progress }: Invocation): Promise<CommandResult> {
  const directory = resolve(value('folder')!)
  if (existsSync(directory) && readdirSync(directory).length > 0)
    throw new BadUsage(`${directory} is not empty: name a new folder, so that nothing old is taken for new`)
  const config = settings()
  const origin = await serviceOrigin(config)
  const token = clientToken(config)
  const here = openServer({ origin, token, team: value('team'), fetch: await createTrustedFetch(config) })
  const names = await Array.fromAsync(projectsIn(here), ({ name }): string => name)
  createDirectory(directory)
  const warnings: string[] = []
  let variables = 0
  for (const [at, name] of names.entries()) {
    progress.show('writing', at, names.length)
    const whole = await readProject(here, name)
    if (whole === undefined) continue
    variables += whole.variables.length
    warnings.push(...(await writeProject(here, join(directory, 'projects', name), whole)))
  }
  writeJson(join(directory, 'account.json'), await readAccount(here))
  const text = `${directory}: ${pluralize(names.length, 'project')}, ${pluralize(variables, 'variable')}`
  return { data: { folder: directory, projects: names.length, variables, left: warnings }, text, warnings }
}

/** Writes `project.json` without values, and a `.env` file per environment. Returns the omitted parts. */
async function writeProject(here: Server, directory: string, whole: ProjectData): Promise<string[]> {
  const { project, environments, variables, domains, slugs } = whole
  createDirectory(directory)
  const { env: _, latestDeployments: __, targets: ___, protectionBypass: ____, ...settings } = project
  const named = variables.map(({ value: _, decrypted: __, securityIssues: ___, ...rest }) => rest)
  writeJson(join(directory, 'project.json'), { project: settings, environments, variables: named, domains })
  const files = new Map<string, { values: Record<string, string>; omitted: string[] }>()
  const left: string[] = []
  for (const variable of variables) {
    const value = await readServerValue(here, project.name, variable)
    for (const place of environmentLabels(variable, slugs)) {
      const file = files.get(place) ?? { values: {}, omitted: [] }
      files.set(place, file)
      if (value === undefined) file.omitted.push(variable.key)
      else file.values[variable.key] = value
      const reason = value === undefined ? 'its value cannot be read' : reasonLeftOut(value)
      if (reason !== undefined) left.push(`${project.name}: ${variable.key} is left out of ${place}.env: ${reason}`)
    }
  }
  for (const [place, { values, omitted }] of files)
    writeFileAtomically(join(directory, `${place}.env`), writeDotenv(values, omitted))
  return left
}

/** Webhooks and drains without their secrets, and members. */
async function readAccount(here: Server): Promise<object> {
  const all = (path: string, name: string) => Array.fromAsync(here.list([path], name, 'absent'))
  const members =
    here.team === undefined ? [] : await all(`/v2/teams/${segment(here.team)}/members?limit=100`, 'members')
  return { webhooks: await all('/v1/webhooks', 'webhooks'), drains: await all('/v1/drains', 'drains'), members }
}

function writeJson(file: string, value: unknown): void {
  writeFileAtomically(file, `${JSON.stringify(value, null, 2)}\n`)
}
