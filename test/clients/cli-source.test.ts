/** Source to page: each CLI deploys folders to a Berth of a laptop, which builds them with a runner of its own and shows the pages. docs/runner.md. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isDriven } from './ledger.ts'
import { type Files, folderWith, json, startLaptop } from './source-builds.ts'

const REACT = { react: '19.2.0', 'react-dom': '19.2.0' }

/** TABLE projects: files, and what the page says. */
const PROJECTS: Record<string, { files: Files; page: RegExp }> = {
  'plain HTML': { files: { 'index.html': '<h1>hello</h1>\n' }, page: /^<h1>hello<\/h1>$/m },
  'a build script': {
    files: {
      'package.json': json({ private: true, scripts: { build: 'mkdir public && echo built > public/index.html' } }),
    },
    page: /^built$/m,
  },
  Vite: {
    files: {
      'package.json': json({
        ...{ private: true, type: 'module', scripts: { build: 'vite build' } },
        ...{ dependencies: REACT, devDependencies: { vite: '7.3.8', '@vitejs/plugin-react': '^5' } },
      }),
      'vite.config.js': 'import react from "@vitejs/plugin-react"\nexport default { plugins: [react()] }\n',
      'index.html': '<!doctype html><div id="root"></div><script type="module" src="/main.jsx"></script>',
      'main.jsx':
        'import { createRoot } from "react-dom/client"\ncreateRoot(document.querySelector("#root")).render(<h1>hi</h1>)\n',
    },
    page: /assets\/index-[\w-]+\.js/,
  },
  Astro: {
    files: {
      'package.json': json({ private: true, scripts: { build: 'astro build' }, dependencies: { astro: 'latest' } }),
      'src/pages/index.astro': '---\nconst made = "by " + "astro"\n---\n<h1>{made}</h1>\n',
    },
    page: /by astro/,
  },
  'Next.js with a static export': {
    files: {
      'package.json': json({
        ...{ private: true, scripts: { build: 'next build' } },
        dependencies: { next: 'latest', ...REACT },
      }),
      'next.config.mjs': 'export default { output: "export" }\n',
      'app/layout.jsx': 'export default ({ children }) => <html><body>{children}</body></html>\n',
      'app/page.jsx': 'export default () => <h1>by next</h1>\n',
    },
    page: /by next/,
  },
}

for (const version of ['39.1.3', '50.44.0', '64.0.2'])
  test(`CLI ${version} deploys sources, and each is a page`, { timeout: 7_200_000 }, async (t) => {
    if (!isDriven(`cli-${version}`)) return t.skip('is not driven in short')
    const laptop = await startLaptop(t)
    for (const [name, { files, page }] of Object.entries(PROJECTS))
      await t.test(name, { timeout: 1_800_000 }, async () => {
        const folder = folderWith(t, files, name.toLowerCase().replace(/\W+/g, '-'))
        const { host } = await laptop.deploy(folder, version)
        const shown = await laptop.page(host)
        assert.equal(shown.status, 200)
        assert.match(shown.text, page)
      })
    assert.equal(await laptop.running.kill('SIGTERM'), 0)
  })
