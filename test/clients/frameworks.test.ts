/** Frameworks from source: each app is built by a runner, and its pages answer by http and by https, two of them in a browser too. docs/frameworks.md. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findChromium } from '../support/clients/chromium.ts'
import { API } from './frameworks/api.ts'
import { ASTRO } from './frameworks/astro.ts'
import { browse } from './frameworks/browse.ts'
import { NEST } from './frameworks/nest.ts'
import { NITRO, NUXT } from './frameworks/nuxt.ts'
import { REACT_ROUTER } from './frameworks/react-router.ts'
import { EXPRESS, FASTIFY, HONO } from './frameworks/servers.ts'
import { SVELTE } from './frameworks/svelte.ts'
import { deployAndProbe } from './frameworks/visits.ts'
import { isWhole } from './ledger.ts'
import { startLaptop } from './source-builds.ts'

const APPS = [SVELTE, REACT_ROUTER, ASTRO, NUXT, NITRO, HONO, EXPRESS, FASTIFY, NEST, API]

/** TABLE apps that are opened in a browser, and the target of a link. */
const BROWSED: Readonly<Record<string, string>> = { [SVELTE.name]: 'live', [REACT_ROUTER.name]: 'live 7' }

const chromium = findChromium()

test('apps of frameworks are deployed from source, and behave', { timeout: 7_200_000 }, async (t) => {
  const laptop = await startLaptop(t)
  for (const app of isWhole ? APPS : APPS.slice(0, 1))
    await t.test(app.name, { timeout: 1_800_000 }, async (inner) => {
      const site = await deployAndProbe(inner, laptop, app)
      const title = BROWSED[app.name]
      if (title === undefined) return
      const skip = chromium === undefined && 'there is no chromium'
      await inner.test(`${app.name} in a browser`, { skip }, () => browse(chromium!, site, title))
    })
  assert.equal(await laptop.running.kill('SIGTERM'), 0)
})
