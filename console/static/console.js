// Two conveniences; every page works without them: the chosen light is kept, and the static export can be searched.
(function () {
  'use strict';
  var root = document.documentElement, kept = null;
  try { kept = localStorage.getItem('palimpsest-light'); } catch (e) { /* not kept: nothing lost */ }
  if (kept === 'light' || kept === 'dark') root.setAttribute('data-light', kept);

  document.addEventListener('DOMContentLoaded', function () {
    document.querySelectorAll('input[name=theme]').forEach(function (input) {
      input.checked = input.value === (kept || 'auto');
      input.addEventListener('change', function () {
        root.removeAttribute('data-light');
        try { localStorage.setItem('palimpsest-light', input.value); } catch (e) { /* as above */ }
      });
    });
    search();
  });

  function search() {
    var box = document.getElementById('searching'), index = window.PALIMPSEST_INDEX;
    if (!box || !index) return;
    box.hidden = false;
    document.getElementById('without-script').hidden = true;
    var input = document.getElementById('find'), list = document.getElementById('found');
    var count = document.getElementById('found-count');
    input.addEventListener('input', function () {
      var words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      var found = words.length ? index.filter(function (one) {
        return words.every(function (word) { return one.text.indexOf(word) >= 0; });
      }) : [];
      count.textContent = words.length ? found.length + ' found' : '';
      list.replaceChildren.apply(list, found.slice(0, 100).map(function (one) {
        var item = document.createElement('li'), link = document.createElement('a');
        link.href = one.href;
        link.textContent = one.name;
        item.append(link, ' ' + one.platform);
        return item;
      }));
    });
  }
})();
