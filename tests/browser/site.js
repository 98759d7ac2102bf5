// site.js: drives Chromium over a tree and a data set's pages; called by site.sh with both folders.
'use strict';
const fs = require('fs'), http = require('http'), path = require('path'), url = require('url');
const { chromium } = require('playwright-core');
const axe = fs.readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
const [tree, published] = process.argv.slice(2);

function fail(text) { throw new Error(text); }

function htmlFiles(folder) {
	return fs.readdirSync(folder, { withFileTypes: true }).flatMap((e) => e.isDirectory() ? htmlFiles(path.join(folder, e.name))
		: e.name.endsWith('.html') ? [path.join(folder, e.name)] : []);
}

// Every address on every page: a file that is there, an id that is there, or an http(s) address of somebody else.
function checkLinks(root) {
	let count = 0;
	for (const file of htmlFiles(root))
		for (const [, raw] of fs.readFileSync(file, 'utf8').matchAll(/<a href="([^"]*)"/g)) {
			const href = raw.replace(/&amp;/g, '&').replace(/&#39;/g, '\'');
			count++;
			if (/^https?:\/\//.test(href)) continue;
			const [name, id] = href.split('#'), target = path.resolve(path.dirname(file), decodeURI(name) || path.basename(file));
			if (!target.startsWith(path.resolve(root) + path.sep)) fail(`${file}: ${href} leaves the site`);
			if (!fs.existsSync(target)) fail(`${file}: dead link ${href}`);
			if (id && !fs.readFileSync(target, 'utf8').includes(`id="${id}"`)) fail(`${file}: no such place ${href}`);
		}
	return count;
}

function serve(root) {
	const server = http.createServer((request, answer) => {
		const file = path.join(root, decodeURIComponent(new url.URL(request.url, 'http://x').pathname));
		if (request.url === '/favicon.ico') { answer.writeHead(204); answer.end(); return; }
		if (!file.startsWith(root) || !fs.existsSync(file) || !fs.statSync(file).isFile()) { answer.writeHead(404); answer.end(); return; }
		answer.writeHead(200, { 'Content-Type': file.endsWith('.html') ? 'text/html; charset=utf-8' : 'text/plain; charset=utf-8' });
		answer.end(fs.readFileSync(file));
	});
	return new Promise((done) => server.listen(0, '127.0.0.1', () => done(server)));
}

// A click that ends on the page whose address ends as wanted.
async function follow(page, selector, ending) {
	await page.locator(selector).first().click();
	await page.waitForLoadState();
	if (!ending.test(page.url())) fail(`${selector} led to ${page.url()}`);
}

async function text(page) { return page.evaluate(() => document.body.innerText); }

// What a file: address does not show, Chromium offers as a download: its bytes are as good.
async function read(page, selector) {
	const href = await page.locator(selector).first().evaluate((a) => a.href);
	const arrived = page.waitForEvent('download', { timeout: 15000 }).catch(() => null);
	await page.locator(selector).first().click().catch(() => null);
	await page.waitForTimeout(300);
	if (page.url() === href) { const shown = await text(page); await page.goBack(); return shown; }
	const download = await arrived;
	if (!download) fail(`${href} was neither shown nor offered`);
	return fs.readFileSync(await download.path(), 'utf8');
}

async function walk(browser, start) {
	const context = await browser.newContext({ acceptDownloads: true }), page = await context.newPage();
	const origin = start.startsWith('file:') ? 'file://' : new url.URL(start).origin, requests = [];
	page.on('request', (r) => { requests.push(r.url()); if (!r.url().startsWith(origin)) fail(`external request ${r.url()}`); });
	page.on('requestfailed', (r) => { if (r.failure().errorText !== 'net::ERR_ABORTED') fail(`failed request ${r.url()}`); });
	page.on('response', (r) => { if (r.status() >= 400) fail(`${r.status()} ${r.url()}`); });
	page.on('pageerror', (e) => fail(`script error: ${e}`));
	page.on('console', (m) => { if (m.type() === 'error') fail(`console: ${m.text()}`); });
	await page.goto(start);
	await follow(page, 'a:has-text("All side by side at 64 KiB")', /\/compare\.html$/);
	await page.goBack();
	await follow(page, 'a[href$="/compare.html"]', /\/compare\.html$/);
	await follow(page, 'a[href^="perf_"]', /\/perf_[^/]*\.html$/);
	const candidate = page.url();
	if (!/^\d+(\n\d+)+\n?$/.test(await read(page, 'a[href$=".ns.txt"]'))) fail('the raw samples are no column of numbers');
	if (page.url() !== candidate) fail('not back on the candidate page');
	if (!/BEGIN SSH SIGNATURE/.test(await read(page, 'a:has-text("its signature")'))) fail('no signature');
	if (page.url() !== candidate) fail('not back on the candidate page');
	await follow(page, 'a[href^="../summary_"]', /\/summary_[^/]*\.html$/);
	await follow(page, 'a:has-text("Index")', /\/index\.html$/);
	await context.close();
	return requests.length;
}

// Paper does not scroll: on A4 between its margins nothing may stand beyond the right edge.
async function paper(browser, files, root) {
	const context = await browser.newContext({ viewport: { width: 715, height: 1000 } }), page = await context.newPage();
	await page.emulateMedia({ media: 'print' });
	for (const file of files) {
		await page.goto(url.pathToFileURL(file).href);
		const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
		if (wide > 0) fail(`${path.relative(root, file)}: ${wide} pixels wider than the paper`);
	}
	await context.close();
	return files.length;
}

async function look(browser, files, root) {
	let checks = 0;
	for (const width of [1280, 390])
		for (const colorScheme of ['light', 'dark']) {
			const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme }), page = await context.newPage();
			for (const file of files) {
				await page.goto(url.pathToFileURL(file).href);
				const sideways = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
				if (sideways > 0) fail(`${file}: moves sideways by ${sideways} at ${width}`);
				await page.evaluate(axe);
				const found = await page.evaluate(async () => (await axe.run({ resultTypes: ['violations'] })).violations
					.map((v) => `${v.id}: ${v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160)).join(' | ')}`));
				if (found.length) fail(`${path.relative(root, file)} at ${width}, ${colorScheme}: ${found.join('\n')}`);
				checks++;
				if (!process.env.SHOTS) continue;
				const shot = path.join(process.env.SHOTS, path.relative(path.dirname(root), file).replace(/[/]/g, '_').replace('.html', ''));
				await page.screenshot({ fullPage: true, path: `${shot}_${width}_${colorScheme}.png` });
				if (width === 1280 && colorScheme === 'light')
					await page.pdf({ path: `${shot}.pdf`, preferCSSPageSize: true });
			}
			await context.close();
		}
	return checks;
}

(async () => {
	for (const root of [tree, published]) console.log(`site: ${checkLinks(root)} links of ${path.basename(root)} resolve`);
	const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ['--no-sandbox'] });
	const server = await serve(path.resolve(tree));
	try {
		console.log(`site: from the folder, ${await walk(browser, url.pathToFileURL(path.join(tree, 'index.html')).href)} requests`);
		console.log(`site: from a server, ${await walk(browser, `http://127.0.0.1:${server.address().port}/index.html`)} requests`);
		let checks = 0, sheets = 0;
		for (const root of [tree, published]) sheets += await paper(browser, htmlFiles(root), root);
		console.log(`site: ${sheets} pages fit on paper`);
		for (const root of [tree, published]) checks += await look(browser, htmlFiles(root), root);
		console.log(`site: axe-core ${checks} times without a finding (1280 and 390 pixels, light and dark)`);
	} finally {
		await browser.close();
		server.close();
	}
})().catch((e) => { console.error(`FAILED: ${e.message}`); process.exit(1); });
