// Draws each element with a graph in its data: nodes in rows by how far they are from an input, each
// input in the row above its first use.
document.querySelectorAll('[data-graph]').forEach(function (box) {
  var graph = JSON.parse(box.dataset.graph), width = 150, height = 46;
  var row = {}, rows = [], place = {}, inputs = {}, first = {};
  graph.edges.forEach(function (edge) {
    (inputs[edge[1]] = inputs[edge[1]] || []).push(edge[0]);
  });
  graph.nodes.forEach(function (node) {
    if (!inputs[node[0]]) return;
    var at = 1;
    inputs[node[0]].forEach(function (from) {
      if (row[from] !== undefined) at = Math.max(at, row[from] + 1);
    });
    row[node[0]] = at;
    inputs[node[0]].forEach(function (from) {
      if (row[from] === undefined) first[from] = Math.min(first[from] || at, at);
    });
  });
  graph.nodes.forEach(function (node) {
    var at = inputs[node[0]] ? row[node[0]] : (first[node[0]] || 1) - 1;
    (rows[at] = rows[at] || [])[inputs[node[0]] ? 'unshift' : 'push'](node);
  });
  rows = Array.from(rows, function (nodes) { return nodes || []; });
  var most = Math.max.apply(0, rows.map(function (nodes) { return nodes.length; })) * width;
  rows.forEach(function (nodes, y) {
    nodes.forEach(function (node, x) {
      place[node[0]] = [(x + 0.5) * most / nodes.length, y * height + 18];
    });
  });
  var text = '', escaped = document.createElement('b');
  graph.edges.forEach(function (edge) {
    var a = place[edge[0]], b = place[edge[1]];
    if (a && b) {
      text += '<path d="M' + a[0] + ' ' + (a[1] + 12) + ' C' + a[0] + ' ' + (a[1] + 26) + ' ' +
        b[0] + ' ' + (b[1] - 26) + ' ' + b[0] + ' ' + (b[1] - 12) +
        '" fill="none" stroke="#9aa7b5"/>';
    }
  });
  graph.nodes.forEach(function (node) {
    var at = place[node[0]];
    escaped.textContent = node[1];
    text += '<rect x="' + (at[0] - 68) + '" y="' + (at[1] - 12) + '" width="136" height="24" rx="' +
      (node[2] ? 12 : 3) + '" fill="#fff" stroke="#5c7080"/><text x="' + at[0] + '" y="' +
      (at[1] + 4) + '" text-anchor="middle">' + escaped.innerHTML + '</text>';
  });
  box.innerHTML = '<svg width="' + most + '" height="' + rows.length * height + '">' + text + '</svg>';
});
// A link into something that is folded opens it.
function unfold() {
  var target = location.hash && document.getElementById(location.hash.slice(1));
  for (var at = target; at; at = at.parentElement) if (at.tagName === 'DETAILS') at.open = true;
  if (target) {
    target.querySelectorAll(':scope > details').forEach(function (at) { at.open = true; });
    target.scrollIntoView();
  }
}
window.addEventListener('hashchange', unfold);
unfold();
