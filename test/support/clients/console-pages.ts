/** Every page of the table of screens, with an address that shows a resource of the first user. */
import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { CONSOLE } from '../../../src/console/screens.ts'
import { eventually } from '../eventually.ts'
import { type Samples, seedSamples } from '../sample-requests.ts'
import type { World } from '../world.ts'
import { valuesOf } from './screen-values.ts'

/** Opens a page and waits for its frames. Returns the status. */
export async function goTo(page: Page, address: string): Promise<number | undefined> {
  const answer = await page.goto(address)
  const isWhole = `document.querySelector('turbo-frame[src]:not([complete])') === null`
  await eventually(() => page.evaluate<boolean>(isWhole))
  return answer?.status()
}

/** TABLE what a page is about, where its query says it. */
const QUERIES: Readonly<Record<string, (samples: Samples) => string>> = {
  '/console/t/:slug/projects/:name/deployments/remove': ({ oldDeploymentId }) => `?id=${oldDeploymentId}`,
  '/console/t/:slug/projects/:name/variables/delete': ({ envId }) => `?id=${envId}`,
}

export type ConsolePage = { path: string; address: string }

/** Creates the resources of the pages. Returns the pages, without files and streams. */
export async function openConsolePages(world: World): Promise<ConsolePage[]> {
  const samples = await seedSamples(world)
  const pages = CONSOLE.filter(({ method, streams, path }) => method === 'GET' && !streams && !path.endsWith('/export'))
  assert.ok(pages.length > 60, `${pages.length} pages`)
  return pages.map(({ path }) => {
    const known = valuesOf(path, samples)
    const address = path.replaceAll(/:(\w+)/g, (_, name: string) => known[name] ?? assert.fail(path))
    return { path, address: address + (QUERIES[path]?.(samples) ?? '') }
  })
}
