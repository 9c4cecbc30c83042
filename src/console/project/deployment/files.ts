/** The output of a deployment, a directory at a time, and its facts as JSON. docs/console.md: Project pages. */
import type { Static } from 'typebox'
import type { FileTree } from '../../../delivery/deploys/contents.ts'
import { icon } from '../../../platform/pages/face/icons.ts'
import { type Html, html } from '../../../platform/pages/html.ts'
import { type ConsoleCtx, consoleScreen, type Screen, type ScreenInput } from '../../../platform/pages/screen.ts'
import { refuse } from '../../../platform/refusals/refusal.ts'
import { Type } from '../../../platform/schema/builder.ts'
import { countOf } from '../../controls.ts'
import { dataTable } from '../../fields.ts'
import { deploymentPath, findAccountOfPath, projectPage } from '../../frame.ts'
import { bytes } from '../../operator/frame.ts'
import { titleOf } from '../commit.ts'
import { DEPLOYMENT_READ, readDeployment } from './of-project.ts'

const ONE = '/console/t/:slug/projects/:name/deployments/:id'
const Place = Type.Object({ path: Type.Optional(Type.String({ maxLength: 4096 })) })
/** Entries of a directory on one page. */
const MOST = 1000

type Entry = Static<typeof FileTree>[number]

export const deploymentFileScreens: readonly Screen[] = [
  consoleScreen({
    method: 'GET',
    path: `${ONE}/files`,
    name: 'showDeploymentFiles',
    query: Place,
    calls: [...DEPLOYMENT_READ, 'listDeploymentFiles'],
    run: showFiles,
  }),
  consoleScreen({
    method: 'GET',
    path: `${ONE}/export`,
    name: 'inspectDeployment',
    calls: DEPLOYMENT_READ,
    run: async (ctx, { params }) => {
      const account = await findAccountOfPath(ctx, params)
      const { deployment } = await readDeployment(ctx, account, params)
      const text = `${JSON.stringify(deployment, null, 2)}\n`
      return { download: { fileName: `${deployment.id}.json`, contentType: 'application/json; charset=utf-8', text } }
    },
  }),
]

async function showFiles(ctx: ConsoleCtx, { params, query }: ScreenInput<Static<typeof Place>>) {
  const account = await findAccountOfPath(ctx, params)
  const { deployment } = await readDeployment(ctx, account, params)
  const tree = await ctx.callRoute<Entry[]>('listDeploymentFiles', { account, params: { id: deployment.id } })
  const names = (query.path ?? '').split('/').filter(Boolean)
  const entries = entriesAt(tree, names)
  const back = deploymentPath(account, params.name!, deployment.id)
  const to = (path: readonly string[]) =>
    path.length === 0 ? `${back}/files` : `${back}/files?${new URLSearchParams({ path: path.join('/') })}`
  return projectPage(ctx, account, params.name!, 'deployments', {
    title: 'Output',
    within: [[titleOf(deployment), back], ...names.map((name, at) => [name, to(names.slice(0, at + 1))] as const)],
    body: html`<div class="head"><h1>Output</h1></div>
${entries.length === 0 ? html`<p class="card empty">This deployment has no files here.</p>` : table(entries, (name) => to([...names, name]))}`,
  })
}

/** Refuses: not_found 404 for a directory that is not there. */
function entriesAt(tree: readonly Entry[], names: readonly string[]): readonly Entry[] {
  let entries = tree
  for (const name of names) {
    const directory = entries.find((entry) => entry.type === 'directory' && entry.name === name)
    if (directory === undefined) refuse('not_found', 'The output has no such directory.')
    entries = directory.children as Entry[]
  }
  return entries
}

function table(entries: readonly Entry[], to: (name: string) => string): Html {
  const sorted = entries.toSorted((a, b) => Number(isFolder(b)) - Number(isFolder(a)) || (a.name < b.name ? -1 : 1))
  return html`${dataTable(
    'Output',
    ['Name', 'Kind', 'Size'],
    sorted.slice(0, MOST).map((entry) => {
      const { count, size } = sumOf(entry)
      const name = isFolder(entry) ? html`<a href="${to(entry.name)}">${entry.name}/</a>` : html`${entry.name}`
      return html`<tr><td class="any">${icon(isFolder(entry) ? 'folder' : 'file-text')} ${name}</td><td>${kindOf(entry, count)}</td><td class="num">${entry.type === 'lambda' ? '' : bytes(size)}</td></tr>`
    }),
    { numbers: ['Size'] },
  )}
${sorted.length > MOST && html`<p class="soft small">The first ${MOST} of ${sorted.length} entries.</p>`}`
}

function kindOf(entry: Entry, count: number): string {
  if (entry.type === 'lambda') {
    const { memory, maxDuration } = entry
    return ['Function', memory && `${memory} MB`, maxDuration && `${maxDuration} s`].filter(Boolean).join(', ')
  }
  return isFolder(entry) ? countOf(count, 'file') : (entry.contentType?.split(';')[0] ?? 'File')
}

function isFolder({ type }: Entry): boolean {
  return type === 'directory'
}

/** Files and bytes in an entry. */
function sumOf(entry: Entry): { count: number; size: number } {
  let [count, size] = [0, 0]
  const left = [entry]
  for (let directory = left.pop(); directory !== undefined; directory = left.pop()) {
    if (directory.children !== undefined) left.push(...(directory.children as Entry[]))
    else {
      count++
      size += directory.size ?? 0
    }
  }
  return { count, size }
}
