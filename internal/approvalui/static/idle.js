// When nothing waits: what would, and being told when something does.
import { count, el, icon, spoken } from './text.js';

// empty is the page when nothing waits. draw is called when what it shows has changed.
export function empty(server, draw) {
  const out = [el('section', { class: 'card empty' }, icon('check'), el('h1', null, 'Nothing waits for you'),
    el('p', null, 'When an agent wants a change that needs a person, it shows up here by itself and this tab\u2019s title counts it.'), notifyButton(draw))];
  const a = server.approval_required_above_rows;
  const h = server.hard_max_rows;
  if (h > 0) {
    const rule = (dt, dd) => el('div', null, el('dt', null, dt), el('dd', null, dd));
    out.push(el('dl', { class: 'rule' }, rule(`Up to ${count(a)} rows`, 'runs without asking'),
      rule(a < h ? `${count(a + 1)} to ${count(h)} rows, every migration` : 'Every migration', 'waits here for you'), rule(`More than ${count(h)} rows`, 'is refused, no approval')));
  }
  return out;
}

// notifyButton is the one way to a desktop notification: only when asked for.
function notifyButton(draw) {
  if (!('Notification' in window) || Notification.permission === 'denied') return null;
  if (Notification.permission === 'granted') return el('p', { class: 'help' }, 'A desktop notification tells you when a plan waits.');
  const b = el('button', { class: 'btn btn-small', type: 'button', onclick: async () => { await Notification.requestPermission(); draw(); } }, 'Notify me on this desktop');
  return b;
}

// notify says that a plan waits, and where, and nothing of the plan.
export function notify(server) {
  if (!document.hidden || !('Notification' in window) || Notification.permission !== 'granted') return;
  const n = new Notification('A plan waits in ' + spoken([{ k: 'c', v: server.database }]), { tag: 'plan' });
  n.onclick = () => { window.focus(); n.close(); };
}
